// What PostgreSQL does for an import, and for a takedown, as the data grows. Pages that are read tell it without a clock.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openReader, openWriter } from '../../../src/stores/open.ts';
import { writePeople } from '../../bench/data.ts';
import { importInto } from '../../support/database.ts';
import { ndjson, tempFolder } from '../../support/files.ts';
import { change, saveOriginals } from '../../support/importing.ts';
import { type Cluster, havePostgres, startCluster } from '../../support/postgres-rig.ts';
import { folio, shot } from '../../support/records.ts';
import { run } from '../../support/run.ts';
import { until } from '../../support/stress.ts';

const USERS = 2000;
/** Enough for lists that are compressed. */
const ITEMS = 5;

describe.runIf(havePostgres)('PostgreSQL', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
    // What a vacuum reads would count as read by the command.
    await cluster.primary.sql('ALTER SYSTEM SET autovacuum = off');
    await cluster.primary.sql('SELECT pg_reload_conf()');
  });
  afterAll(() => cluster?.remove());

  /** Pages of tables and their indexes that were read in a database. */
  async function pages(database: string, table = '%'): Promise<number> {
    const [row] = await cluster.primary.sql(
      `SELECT sum(coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0)) AS sum FROM pg_statio_user_tables WHERE relname LIKE '${table}'`,
      database,
    );
    return Number(row?.sum);
  }

  /** A session reports what it has read when it ends. */
  async function settled(database: string): Promise<void> {
    await until('the end of the sessions', async () => {
      const sessions = `SELECT count(*) AS count FROM pg_stat_activity WHERE datname = '${database}'`;
      return Number((await cluster.primary.sql(sessions))[0]?.count) === 0;
    });
  }

  async function imported(users: number): Promise<{ readonly database: string; readonly url: string }> {
    const database = await cluster.createDatabase();
    const url = cluster.url(database);
    const source = join(tempFolder(), 'people.ndjson');
    await writePeople(source, users, ITEMS);
    await importInto(url, [source]);
    await settled(database);
    return { database, url };
  }

  async function takeDown(url: string, database: string, value: string): Promise<void> {
    const writer = await openWriter(url);
    expect((await writer.takeDown([{ family: 'microblog', kind: 'user', value }])).users).toBe(1);
    await writer.close();
    await settled(database);
  }

  test('an import of four times the users reads four times as much, not sixteen', async () => {
    const found: number[] = [];
    for (const users of [USERS, 4 * USERS]) found.push(await pages((await imported(users)).database));
    const [one = 0, four = 0] = found;
    expect(one).toBeGreaterThan(0);
    expect(four / one).toBeLessThan(6);
  });

  test('an import that comes after a refused one takes as much disk as the first', async () => {
    const [once, twice] = [await cluster.createDatabase(), await cluster.createDatabase()];
    const source = join(tempFolder(), 'people.ndjson');
    await writePeople(source, USERS, ITEMS);
    const refused = await run(['import', '--database-url', cluster.url(twice), source, '-'], {
      input: ndjson(shot(1_000_000, 1_000_000)),
    });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing was imported') });
    const sizes: number[] = [];
    for (const database of [once, twice]) {
      await importInto(cluster.url(database), [source]);
      const [row] = await cluster.primary.sql("SELECT pg_table_size('items') AS size", database);
      sizes.push(Number(row?.size));
    }
    expect(sizes[1]).toBe(sizes[0]);
  });

  // Beside an import, autovacuum counts what is committed. The planner then compared each item with each profile.
  test('an import counts the profiles that it has written, whatever a vacuum has counted', async () => {
    const database = await cluster.createDatabase();
    await (await openWriter(cluster.url(database))).close();
    await cluster.primary.sql(
      `UPDATE pg_class SET relpages = 1000, reltuples = 0 WHERE oid = 'profiles'::regclass;
       CREATE TABLE counted AS SELECT reltuples FROM pg_class LIMIT 0;
       CREATE FUNCTION note_count() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO counted SELECT reltuples FROM pg_class WHERE oid = 'profiles'::regclass;
         RETURN NULL;
       END $$;
       CREATE TRIGGER note_count AFTER INSERT ON items EXECUTE FUNCTION note_count()`,
      database,
    );
    const source = join(tempFolder(), 'people.ndjson');
    await writePeople(source, USERS, ITEMS);
    await importInto(cluster.url(database), [source]);
    expect(await cluster.primary.sql('SELECT * FROM counted', database)).toEqual([{ reltuples: USERS }]);
  });

  test('an import of one item reads no more where there are four times as many', async () => {
    const found: number[] = [];
    for (const users of [USERS, 4 * USERS]) {
      const { database, url } = await imported(users);
      // Otherwise a scan begins where the last one ended, perhaps at the row that it looks for.
      await cluster.primary.sql(`ALTER DATABASE ${database} SET synchronize_seqscans = off`);
      // Too long for the space that is left in pages of posts.
      const description = 'long '.repeat(200);
      const source = join(tempFolder(), 'shots.ndjson');
      const numbers = Array.from({ length: users * ITEMS }, (_, index) => index + 1);
      writeFileSync(source, ndjson(folio(1, 'ada'), ...numbers.map((id) => shot(id, 1, { description }))));
      await importInto(url, [source]);
      await settled(database);
      const before = await pages(database);
      writeFileSync(source, ndjson(shot(users, 1, { title: 'changed' })));
      await importInto(url, [source]);
      await settled(database);
      found.push((await pages(database)) - before);
    }
    const [one = 0, four = 0] = found;
    expect(four).toBeLessThan(1.5 * one + 100);
  });

  test('a takedown reads what belongs to its user, also where all profiles have changed', async () => {
    const { database, url } = await imported(4 * USERS);
    const takeDownCounting = async (name: string, table?: string) => {
      const before = await pages(database, table);
      await takeDown(url, database, name);
      return (await pages(database, table)) - before;
    };
    // All items have 2,700 pages, and all profiles 600.
    expect(await takeDownCounting('user8')).toBeLessThan(500);
    expect(await takeDownCounting('user7')).toBeLessThan(500);
    await cluster.primary.sql(`UPDATE profiles SET etag = etag || 'changed'; ANALYZE changes`, database);
    // The first one erases how all names were written.
    await takeDown(url, database, 'user6');
    expect(await takeDownCounting('user5', 'profiles')).toBeLessThan(100);
  });

  test('a takedown reads the copies of its user, and not those of others', async () => {
    const { database, url } = await imported(2 * USERS);
    await cluster.primary.sql(
      `INSERT INTO media (url, file)
       SELECT record::json ->> 'avatar', encode(sha256(record::bytea), 'hex') || '.jpg' FROM profiles`,
      database,
    );
    const takeDownWithCopies = async (value: string) => {
      const removed: string[] = [];
      const writer = await openWriter(url);
      await writer.takeDown([{ family: 'microblog', kind: 'user', value }]);
      await writer.cleanUp((names) => void removed.push(...names));
      await writer.close();
      await settled(database);
      return removed;
    };
    // What SQL has written behind the program's back: who names which picture.
    await change(url, (writer) => writer.repair());
    await takeDownWithCopies('user6');
    const before = [await pages(database, 'media%'), await pages(database, 'items')] as const;
    expect(await takeDownWithCopies('user7')).toHaveLength(1);
    expect((await pages(database, 'media%')) - before[0]).toBeLessThan(500);
    expect((await pages(database, 'items')) - before[1]).toBeLessThan(300);
  });

  test('an import that drops an address of many users changes its copy once a second', async () => {
    const database = await cluster.createDatabase();
    const url = cluster.url(database);
    const shared = 'https://old.example/everybody.png';
    const withAvatar = (avatar: string) =>
      importInto(
        url,
        ['-'],
        ndjson(...Array.from({ length: USERS }, (_, nr) => folio(nr + 1, `user${nr}`, { avatar }))),
      );
    await withAvatar(shared);
    const entry = { url: shared, file: `${'a'.repeat(64)}.png`, bytes: 1, reason: null };
    await saveOriginals(url, [entry]);
    await change(url, (writer) => writer.pruneCopies(3600));
    const updates = async () => {
      await settled(database);
      const [row] = await cluster.primary.sql(
        "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'media'",
        database,
      );
      return Number(row?.n_tup_upd);
    };
    const before = [await updates(), await pages(database, 'media_names')] as const;
    await withAvatar('');
    expect((await updates()) - before[0]).toBeLessThan(USERS / 10);
    // Those that it has deleted are not read again for each user.
    expect((await pages(database, 'media_names')) - before[1]).toBeLessThan(10 * USERS);
  });

  // It took a quarter of a second, whenever the planner expected many rows.
  test('PostgreSQL compiles no query of a command', async () => {
    const { database, url } = await imported(10);
    await cluster.primary.sql(
      `CREATE TABLE noted AS SELECT current_setting('jit') AS jit LIMIT 0;
       CREATE FUNCTION note_jit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO noted SELECT current_setting('jit');
         RETURN NULL;
       END $$;
       CREATE TRIGGER note_jit AFTER INSERT ON takedown_marks EXECUTE FUNCTION note_jit()`,
      database,
    );
    await takeDown(url, database, 'user7');
    expect(await cluster.primary.sql('SELECT * FROM noted', database)).toEqual([{ jit: 'off' }]);
  });

  test('users who are left out of a list are not read', async () => {
    const { database, url } = await imported(USERS);
    await cluster.primary.sql('VACUUM profiles', database);
    const before = await pages(database, 'profiles');
    const reader = await openReader(url);
    expect(await reader.users('microblog', { skip: USERS - 2, limit: 2 })).toHaveLength(2);
    await reader.close();
    await settled(database);
    expect((await pages(database, 'profiles')) - before).toBeLessThan(100);
  });
});
