// Migrating PostgreSQL databases of earlier versions: the tables equal new ones, and what is stored a fresh import and SQLite.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { computeEtag } from '../../../src/records/etag.ts';
import { KINDS } from '../../../src/records/kinds.ts';
import { normalise } from '../../../src/records/normalise.ts';
import { checkDatabase, openServed, openWriter } from '../../../src/stores/open.ts';
import { makeBody } from '../../../src/stores/sql/packing.ts';
import { addRecords, importInto } from '../../support/database.ts';
import { fixture, readRecords, ugly } from '../../support/files.ts';
import { bodyOf, exported, newPath } from '../../support/importing.ts';
import { type Cluster, havePostgres, startCluster } from '../../support/postgres-rig.ts';
import { done, run } from '../../support/run.ts';

const FILES = [
  fixture('microblog.ndjson'),
  fixture('portfolio.ndjson'),
  ugly('hostile-names.ndjson'),
  ugly('date-ties.ndjson'),
];

const OLDER = fixture('older/postgres');

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** Records as INSERTs into the tables of version 1.0; of two with the same id the later wins. */
function inserts(records: readonly object[]): string {
  const statements = new Map<string, string>();
  for (const record of records) {
    const result = normalise(record);
    if ('faults' in result) throw new Error(JSON.stringify(result.faults));
    const { kind, id, userKey, owner, date, record: text } = result.row;
    const { family } = KINDS[kind];
    const values =
      owner === '' ? [family, userKey, id, text, computeEtag(text)] : [family, owner, date, id, text];
    const table = owner === '' ? 'profiles' : 'items';
    statements.set(`${kind} ${id}`, `INSERT INTO ${table} VALUES (${values.map(quoted)});`);
  }
  return [...statements.values(), FILL_LISTS].join('\n');
}

const FILL_LISTS = `
  INSERT INTO lists SELECT family, user_key, id, etag_of(items), items FROM (
    SELECT family, user_key, id, (
      SELECT '[' || coalesce(string_agg(record, ','), '') || ']' FROM (
        SELECT record FROM items WHERE items.family = profiles.family AND items.owner = profiles.id
        ORDER BY date DESC, id DESC LIMIT 15) AS newest) AS items
    FROM profiles) AS built`;

const LISTS =
  'SELECT family, user_key, collection, CAST(owner AS text) AS owner, etag, body FROM lists ORDER BY family, user_key, collection';
const PROFILES =
  'SELECT family, user_key, CAST(id AS text) AS id, etag, record FROM profiles ORDER BY family, user_key';
const WORDS = 'SELECT family, word, CAST(id AS text) AS id FROM words ORDER BY family, word, words.id';

describe.runIf(havePostgres)('PostgreSQL', () => {
  let cluster: Cluster;
  let older: string;
  let fresh: string;

  /** A database as the version with this schema made it. */
  async function databaseOf(version: number, records: readonly object[]): Promise<string> {
    const name = await cluster.createDatabase();
    const ladder = readdirSync(OLDER)
      .sort()
      .filter((file) => Number.parseInt(file, 10) <= version)
      .map((file) => readFileSync(join(OLDER, file), 'utf8'));
    const [first = '', ...later] = ladder;
    await cluster.primary.sql(`${first}; UPDATE vitrine SET schema = ${version}, generation = 7`, name);
    await cluster.primary.sql(inserts(records), name);
    for (const sql of later) await cluster.primary.sql(sql, name);
    if (version >= 9) await packLists(name);
    return name;
  }

  /** The program compressed lists at the end of each change. */
  async function packLists(database: string): Promise<void> {
    const lists = await cluster.primary.sql(
      `SELECT ctid AS row, encode(body, 'hex') AS body FROM lists`,
      database,
    );
    const updates = lists.map(({ row, body = '' }) => {
      const packed = makeBody(Buffer.from(body, 'hex')).toString('hex');
      return `UPDATE lists SET body = '\\x${packed}' WHERE ctid = '${row}';`;
    });
    await cluster.primary.sql(updates.join('\n'), database);
  }

  beforeAll(async () => {
    cluster = await startCluster();
    older = await databaseOf(2, FILES.flatMap(readRecords));
    await cluster.primary.sql(
      'CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader',
      older,
    );
    fresh = await cluster.createDatabase();
    await importInto(cluster.url(fresh), FILES);
  });
  afterAll(() => cluster.remove());

  test('a migrated database equals a fresh import', async () => {
    const url = cluster.url(older);
    expect((await run(['export', '--database-url', url])).stderr).toMatch(/older schema \(2, wanted \d+\)/);
    await (await openWriter(url)).close();
    for (const rows of [PROFILES, LISTS, WORDS]) {
      const migrated = await cluster.primary.sql(rows, older);
      expect(migrated.length).toBeGreaterThan(100);
      expect(migrated).toEqual(await cluster.primary.sql(rows, fresh));
    }
    expect(await exported(url)).toEqual(await exported(cluster.url(fresh)));
    expect((await checkDatabase(url)).faults).toEqual([]);
    expect((await cluster.primary.sql('SELECT id FROM posts', older)).length).toBeGreaterThan(20);
  });

  test.each([2, 7, 10, 14])('a database of schema %i gets the tables of a new one', async (version) => {
    const records = readRecords(fixture('older/records.ndjson'));
    const name = await databaseOf(version, records);
    const url = cluster.url(name);
    // A server that waits for the migration serves what it finds after it.
    const reader = await openServed(url, () => {});
    expect(await reader.fault()).toMatch(/older schema/);
    await done(['migrate', '--database-url', url]);
    await expect.poll(() => reader.fault(), { timeout: 60_000 }).toBeUndefined();
    await reader.close();
    const alone = await cluster.createDatabase();
    await addRecords(cluster.url(alone), ...records);
    expect(await exported(url)).toEqual(await exported(cluster.url(alone)));
    expect((await checkDatabase(url)).faults).toEqual([]);
    // Columns that were added between two versions may be in another order.
    const tables = async (database: string) => (await cluster.dumpSchema(database)).split('\n').sort();
    expect(await tables(name)).toEqual(await tables(alone));
  });

  test('names of caches that hold a secret path are forgotten, and those that hide it stay', async () => {
    const name = await databaseOf(14, []);
    const names = [
      'nginx:/cache',
      'post:HTTPS://purge.example/s3cret',
      'post:https://purge.example/…1a2b3c4d',
    ];
    for (const each of names)
      await cluster.primary.sql(`INSERT INTO subscribers VALUES (${quoted(each)}, 1)`, name);
    await done(['migrate', '--database-url', cluster.url(name)]);
    const kept = await cluster.primary.sql(`SELECT name FROM subscribers WHERE name LIKE '%:%'`, name);
    expect(kept.map((row) => row.name).toSorted()).toEqual([names[0], names[2]]);
  });

  test('a role that could read before the migration can read after it', async () => {
    const reader = await openServed(cluster.url(older, [cluster.primary], 'reader'), () => {});
    expect(await reader.fault()).toBeUndefined();
    expect(bodyOf(await reader.items('portfolio', 'ada', 'Shots'))).toContain('"Shots":[{');
    expect((await reader.search('portfolio', 'ad', 9)).map(({ key }) => key)).toContain('ada');
    await reader.close();
  });

  test('lists and ETags are the same as in SQLite, byte for byte', async () => {
    const path = newPath();
    await importInto(path, FILES);
    expect(await exported(path)).toEqual(await exported(cluster.url(fresh)));
    const file = new Database(path, { readonly: true });
    for (const rows of [PROFILES, LISTS, WORDS])
      expect(file.prepare(rows).all()).toEqual(await cluster.primary.sql(rows, fresh));
    file.close();
  });

  test('views show the members as columns', async () => {
    const found = await cluster.primary.sql(
      "SELECT name FROM portfolio_profiles WHERE username = 'ada'",
      fresh,
    );
    expect(found).toEqual([{ name: 'Ada Lindqvist' }]);
    for (const view of ['microblog_profiles', 'posts', 'portfolio_profiles', 'shots'])
      expect((await cluster.primary.sql(`SELECT * FROM ${view}`, fresh)).length).toBeGreaterThan(20);
  });

  test('importing the same records again writes no row', async () => {
    const versions = () =>
      cluster.primary.sql(
        `SELECT 'profile', id, xmin FROM profiles UNION ALL SELECT 'item', id, xmin FROM items
         UNION ALL SELECT 'list', owner, xmin FROM lists ORDER BY 1, 2`,
        fresh,
      );
    const before = await versions();
    await importInto(cluster.url(fresh), FILES);
    expect(await versions()).toEqual(before);
  });
});
