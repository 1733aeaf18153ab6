// `vitrine restore` and `vitrine snapshot --keep`: a sound snapshot takes the place of the data at once, any other changes
// nothing. What they print is in fixtures/cases/restore.txt.
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { checkDatabase, openServed } from '../../../src/stores/open.ts';
import { addRecords, databaseOf } from '../../support/database.ts';
import { copyOf, fixture, tempFolder } from '../../support/files.ts';
import { bodyOf, executeSql, exported } from '../../support/importing.ts';
import { blog, post } from '../../support/records.ts';
import { done, run } from '../../support/run.ts';

const OLD = [blog(1, 'ada', { bio: 'old' }), post(1, 1), blog(2, 'bea'), post(2, 2)];
const NEW = [blog(1, 'ada', { bio: 'new' }), post(1, 1), blog(3, 'cid')];

let snapshot: string;
beforeAll(async () => {
  const old = await databaseOf(...OLD);
  snapshot = join(tempFolder(), 'snapshot.db');
  await done(['snapshot', '--database-url', old, snapshot]);
});

const live = () => databaseOf(...NEW);

/** Writes over bytes of a file. */
function scrawl(file: string, at: number, length: number): void {
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0xa5, at, at + length));
}

const restore = (path: string, file: string, ...flags: string[]) =>
  run(['restore', '--database-url', path, file, ...flags]);

describe('a snapshot is refused, and nothing changes, if it is', () => {
  test('cut off', async () => {
    const path = await live();
    const before = readFileSync(path);
    const file = copyOf(snapshot);
    truncateSync(file, 3 * 8192);
    for (const flags of [['--check'], []])
      expect(await restore(path, file, ...flags)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^vitrine: .*site\.db is damaged, or could not be read[^\n]*\n$/),
      });
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(readdirSync(dirname(path)).filter((name) => name.includes('unfinished'))).toEqual([]);
  });

  const ENDLESS = 'WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more) SELECT';
  test.each([
    [
      'a table is a view that never ends',
      `DROP TABLE words; CREATE VIEW words AS ${ENDLESS} 'microblog' AS family, n AS word, n AS id FROM more`,
      'words is a view, not a table',
    ],
    [
      'a table in capitals is such a view',
      `DROP TABLE words; CREATE VIEW WORDS AS ${ENDLESS} 'microblog' AS family, n AS word, n AS id FROM more`,
      'WORDS is a view, not a table',
    ],
    [
      'the address of copies is a script',
      "UPDATE vitrine SET media_url = 'javascript:alert(1)'",
      'its media_url must be',
    ],
  ])('%s', async (_, sql, message) => {
    const path = await live();
    const before = await exported(path);
    const file = copyOf(snapshot);
    executeSql(file, sql);
    expect(await restore(path, file)).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
    expect(await exported(path)).toEqual(before);
  });

  test('the database itself', async () => {
    const path = await live();
    expect((await restore(path, path)).stderr).toContain('is the database itself');
  });
});

test('a view of a snapshot that never ends is replaced by ours', async () => {
  const path = await live();
  const file = copyOf(snapshot);
  executeSql(
    file,
    `DROP VIEW words_of_profiles; CREATE VIEW words_of_profiles AS
     WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more) SELECT 'microblog' AS family, n AS word, n AS id FROM more`,
  );
  expect((await restore(path, file)).code).toBe(0);
  expect(await exported(path)).toEqual(await exported(snapshot));
});

describe('the data of a snapshot takes the place of', () => {
  const PLACES: [what: string, place: (path: string) => unknown][] = [
    ['other data', () => {}],
    ['nothing', (path) => rmSync(path)],
    [
      'a table with a column of its own',
      (path) => executeSql(path, 'ALTER TABLE profiles ADD COLUMN note TEXT'),
    ],
    [
      'a file with pages of another size',
      (path) => executeSql(path, 'PRAGMA journal_mode = DELETE; PRAGMA page_size = 1024; VACUUM'),
    ],
    ['an empty file', (path) => truncateSync(path, 0)],
    ['an older schema', (path) => copyFileSync(fixture('older/schema-4.db'), path)],
  ];
  test.each(PLACES)('%s', async (_, place) => {
    const path = await live();
    place(path);
    const { code, stdout } = await restore(path, snapshot);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^.*site\.db was restored from .*\nmicroblog profiles: 2\nposts: 2\n/),
    });
    expect(await exported(path)).toEqual(await exported(snapshot));
    expect((await checkDatabase(path)).faults).toEqual([]);
    expect(readdirSync(dirname(path)).filter((name) => !/^site\.db(-wal|-shm)?$/.test(name))).toEqual([]);
    // And it can be imported into.
    await addRecords(path, ...NEW);
  });

  test('newer data, if it is of an older schema', async () => {
    const path = await live();
    const older = copyOf(fixture('older/schema-4.db'));
    const before = readFileSync(older);
    expect((await restore(path, older)).code).toBe(0);
    const fresh = await databaseOf(fixture('older/records.ndjson'));
    expect(await exported(path)).toEqual(await exported(fresh));
    expect(readFileSync(older).equals(before)).toBe(true);
  });
});

test('an open store answers with the restored data in its next lookup', async () => {
  const path = await live();
  const store = await openServed(path, () => {});
  const read = async () => bodyOf(await store.profile('microblog', 'ada'));
  for (const [command, bio] of [
    [() => restore(path, snapshot), 'old'],
    [() => addRecords(path, ...NEW), 'new'],
    [() => restore(path, snapshot), 'old'],
  ] as const) {
    const before = store.version();
    await command();
    expect(JSON.parse(await read()).bio).toBe(bio);
    expect(store.version()).toBeGreaterThan(before);
    // Reads of one turn share a transaction.
    await immediate();
  }
  await store.close();
});

test('a takedown of the snapshot counts again, and leaves no name behind', async () => {
  const path = await live();
  await done(['takedown', '--database-url', path, '--family', 'microblog', 'cid']);
  const file = join(tempFolder(), 'without.db');
  await done(['snapshot', '--database-url', path, file]);
  await done(['takedown', '--undo', '--database-url', path, '--family', 'microblog', 'cid']);
  await addRecords(path, ...NEW);
  expect((await exported(path)).join()).toContain('"cid"');
  expect((await restore(path, file)).code).toBe(0);
  await addRecords(path, ...NEW);
  expect((await exported(path)).join()).not.toContain('"cid"');
  for (const name of readdirSync(dirname(path)))
    expect([name, readFileSync(join(dirname(path), name), 'latin1').includes('"cid"')]).toEqual([
      name,
      false,
    ]);
});

test('names that a takedown has left for caches are erased', async () => {
  const path = await live();
  await addRecords(path, blog(99, 'quidam'));
  const env = { PURGE: 'nginx:/none' };
  await done(['takedown', '--database-url', path, '--family', 'microblog', 'quidam'], { env });
  const file = join(tempFolder(), 'same.db');
  await done(['snapshot', '--database-url', path, file]);
  expect(readFileSync(path).includes('quidam')).toBe(true);
  expect((await restore(path, file)).code).toBe(0);
  expect(readFileSync(path).includes('quidam')).toBe(false);
});

test('deleted data is erased, also where addresses of pictures cannot be removed', async () => {
  const path = await live();
  await done(['takedown', '--database-url', path, '--family', 'microblog', 'cid']);
  const file = join(tempFolder(), 'without.db');
  await done(['snapshot', '--database-url', path, file]);
  executeSql(file, "INSERT INTO media (url, unnamed_since) VALUES ('https://old.example/1.png', 1)");
  await done(['takedown', '--undo', '--database-url', path, '--family', 'microblog', 'cid']);
  executeSql(path, "CREATE TRIGGER kept BEFORE DELETE ON media BEGIN SELECT RAISE(ABORT, 'kept'); END");
  // As earlier versions have left it in the unused space of a page.
  const bytes = readFileSync(path);
  bytes.write('quidam', bytes.indexOf(Buffer.alloc(200), 8192) + 100);
  writeFileSync(path, bytes);
  const { code, stderr } = await restore(path, file);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(
      /^Addresses of removed pictures are left until the next takedown: .*: kept\n$/,
    ),
  });
  expect(readFileSync(path).includes('quidam')).toBe(false);
});

test.each([
  ['with damaged tables', 3 * 8192, 8192],
  ['too damaged to be opened', 100, 2000],
  ['that is no database', 0, 100],
])('a database %s is left as it is: the operator moves it away first', async (_, at, length) => {
  const path = await live();
  scrawl(path, at, length);
  const before = readFileSync(path);
  const { code, stderr } = await restore(path, snapshot);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /^vitrine: .*site\.db is damaged\. Move it away, .* run the command again\..*\n$/,
    ),
  });
  expect(readFileSync(path).equals(before)).toBe(true);
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
  expect((await restore(path, snapshot)).code).toBe(0);
  expect(await exported(path)).toEqual(await exported(snapshot));
});

describe('snapshot --keep', () => {
  const keep = (folder: string, many: string, database = snapshot) =>
    run(['snapshot', '--database-url', database, '--keep', many, folder]);
  /** What the names of this database's copies begin with. */
  let prefix: string;
  beforeAll(async () => {
    const folder = tempFolder();
    await keep(folder, '1');
    const [name = ''] = readdirSync(folder);
    [prefix = ''] = /^snapshot-[0-9a-f]{8}-(?=\d{8}T\d{6}Z\.db$)/.exec(name) ?? [];
  });
  const older = (days: number) => `${prefix}202001${String(days).padStart(2, '0')}T000000Z.db`;

  test('names the copy for its time, and removes the oldest only', async () => {
    const folder = tempFolder();
    const others = ['site-20200101T000000Z.db', 'snapshot-20200101T000000Z.db', 'snapshot-old.db'];
    for (const name of [older(1), older(2), older(3), ...others]) writeFileSync(join(folder, name), 'x');
    const { stdout } = await keep(folder, '2');
    const [, file = ''] = /^snapshot written to (.*)$/m.exec(stdout) ?? [];
    expect(basename(file)).toMatch(new RegExp(`^${prefix}\\d{8}T\\d{6}Z\\.db$`));
    expect(stdout.split('\n').slice(1, -1)).toEqual(
      [1, 2].map((day) => `removed ${join(folder, older(day))}`),
    );
    expect(readdirSync(folder).sort()).toEqual([older(3), ...others, basename(file)].sort());
    expect(await exported(file)).toEqual(await exported(snapshot));
  });

  test('leaves copies of another database of that name, and knows its own through a link', async () => {
    const folder = tempFolder();
    const other = join(tempFolder(), 'snapshot.db');
    copyFileSync(snapshot, other);
    const link = join(tempFolder(), 'snapshot.db');
    symlinkSync(other, link);
    await keep(folder, '1');
    const [first] = readdirSync(folder);
    await keep(folder, '1', other);
    await keep(folder, '1', link);
    const names = readdirSync(folder);
    expect(names).toHaveLength(2);
    expect(names).toContain(first);
  });

  test('removes nothing if the copy fails, and keeps a new copy with the oldest name', async () => {
    const folder = tempFolder();
    const text = copyOf(snapshot);
    await keep(folder, '1', text);
    writeFileSync(text, 'No database.\n'.repeat(500));
    const before = readdirSync(folder);
    expect((await keep(folder, '1', text)).code).toBe(1);
    expect(readdirSync(folder)).toEqual(before);
    for (const wrong of [text, join(folder, 'no')])
      expect((await keep(wrong, '1')).stderr).toBe(`vitrine: ${wrong} is not a folder: create it first.\n`);
    const future = tempFolder();
    writeFileSync(join(future, `${prefix}29990101T000000Z.db`), 'x');
    expect((await keep(future, '1')).code).toBe(0);
    expect(readdirSync(future)).toEqual([expect.stringMatching(/-20\d{6}T\d{6}Z\.db$/)]);
    // A clock that was ahead for a while has made the oldest ones.
    const ahead = tempFolder();
    for (const year of [2020, 2998, 2999]) writeFileSync(join(ahead, `${prefix}${year}0101T000000Z.db`), 'x');
    expect((await keep(ahead, '3')).stdout).toMatch(/\nremoved .*-29980101T000000Z\.db\n$/);
    expect((await run(['snapshot', '--database-url', snapshot, folder])).stderr).toMatch(
      /is a folder: name a file/,
    );
    for (const many of ['0', '-1', '1.5', 'x']) expect((await keep(folder, many)).code).toBe(2);
  });
});
