// `vitrine check` and its repairs: every store reports the same faults in the same words.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { isPostgresUrl } from '../src/config/database-url.ts';
import { checkDatabase } from '../src/stores/open.ts';
import { tempFolder } from './files.ts';
import { executeSql } from './importing.ts';
import { blog, post } from './records.ts';
import { databaseOf, done, run, storeName } from './rig.ts';

async function execute(url: string, sql: string): Promise<void> {
  if (isPostgresUrl(url)) {
    const client = new pg.Client(url);
    await client.connect();
    await client.query(sql);
    await client.end();
  } else executeSql(url, sql);
}

/** Bytes, in both stores. */
const bytes = (hex: string) => (storeName() === 'SQLite' ? `x'${hex}'` : `'\\x${hex}'::bytea`);
const OTHER = bytes('0011');
/** The body of an empty list. */
const EMPTY = bytes(Buffer.from('{"posts":[]}').toString('hex'));

const date = (minute: number) => ({ date: `2024-01-01 00:0${minute}:00` });
const RECORDS = [
  blog(1, 'user1', { bio: 'long '.repeat(300) }),
  blog(2, 'user2'),
  post(1, 1, date(0)),
  post(2, 1, date(1)),
  post(3, 1, date(2)),
];

describe(`check of ${storeName()}`, () => {
  async function damaged(sql: string): Promise<string> {
    const url = await databaseOf(...RECORDS);
    await execute(url, sql);
    return url;
  }

  test('finds nothing in a sound database', async () => {
    expect((await checkDatabase(await damaged('SELECT 1'))).faults).toEqual([]);
  });

  test.each([
    [
      'the items of another list',
      `UPDATE lists SET body = ${EMPTY} WHERE owner = 1`,
      /1 answers do not match.*"user1"/,
    ],
    ['a damaged list', `UPDATE lists SET body = ${OTHER} WHERE owner = 1`, /1 answers do not match.*"user1"/],
    [
      'a list of an old name',
      "UPDATE lists SET collection = 'notes' WHERE owner = 2",
      /1 lists do not match.*"user2"/,
    ],
    ['a missing list', 'DELETE FROM lists WHERE owner = 2', /1 lists do not match.*"user2"/],
    [
      'the list of nobody',
      `INSERT INTO lists (family, user_key, collection, owner, etag, body) VALUES ('microblog', 'nobody', 'posts', 9, '""', ${EMPTY})`,
      /1 lists do not match.*"nobody"/,
    ],
    ['a list under another name', "UPDATE lists SET user_key = 'x' WHERE owner = 1", /"user1"/],
    [
      "a list's ETag of another text",
      `UPDATE lists SET etag = '"x"' WHERE owner = 1`,
      /1 lists do not match.*"user1"/,
    ],
    ["a profile's ETag of another text", `UPDATE profiles SET etag = '"x"' WHERE id = 2`, /ETag.*"user2"/],
    [
      'a compressed text that is missing',
      'UPDATE profiles SET packed = NULL',
      /1 answers do not match.*"user1"/,
    ],
    [
      'the compressed form of another text',
      `UPDATE profiles SET packed = ${OTHER} WHERE id = 1`,
      /1 answers do not match/,
    ],
    [
      'a compressed form without its end',
      `UPDATE profiles SET packed = substr(packed, 1, length(packed) - 4) WHERE id = 1`,
      /1 answers do not match/,
    ],
    ['a missing item', 'DELETE FROM items WHERE id = 3', /1 lists do not match.*"user1"/],
    [
      'words of another name',
      `UPDATE profiles SET words = '["x"]' WHERE id = 2`,
      /1 users are not found by their names.*"2"/,
    ],
    ['a missing word', "DELETE FROM words WHERE word = 'user2'", /1 users are not found .*"2"/],
    [
      'a word of an old name',
      "INSERT INTO words VALUES ('microblog', 'mallory', 2)",
      /1 users are not found .*"2"/,
    ],
  ])('names the user of %s, and --repair fixes it', async (_, harm, fault) => {
    const url = await damaged(harm);
    expect((await checkDatabase(url)).faults.join()).toMatch(fault);
    const { stdout } = await run(['check', '--repair', '--database-url', url]);
    expect(stdout).toMatch(/^repaired 1 /);
    expect((await checkDatabase(url)).faults).toEqual([]);
  });

  test.each([
    ['an item without an owner', 'UPDATE items SET owner = 7 WHERE id = 1', /1 items have no owner .*"1"/],
    ['an item with the date of another', "UPDATE items SET date = 'x' WHERE id = 2", /1 records are filed/],
    ['a record that is not JSON', "UPDATE items SET record = '{' WHERE id = 2", /1 records are filed/],
  ])('finds %s, which cannot be repaired', async (_, harm, fault) => {
    const url = await damaged(harm);
    expect((await checkDatabase(url)).faults.join()).toMatch(fault);
    expect((await run(['check', '--repair', '--database-url', url])).code).toBe(1);
  });
});

const onSqlite = storeName() === 'SQLite' ? test : () => {};

onSqlite('a page that cannot be read for a moment is not taken for damage', async () => {
  const url = await databaseOf(...RECORDS);
  const snapshot = join(tempFolder(), 'snapshot.db');
  await done(['snapshot', '--database-url', url, snapshot]);
  executeSql(url, 'DELETE FROM lists WHERE owner = 2');
  const { pragma } = Database.prototype;
  using spied = vi.spyOn(Database.prototype, 'pragma');
  spied.mockImplementation(function (this: Database.Database, ...args) {
    const result = pragma.apply(this, args);
    if (this.name !== url || !/^(?:quick|integrity)_check/.test(args[0])) return result;
    return [
      { check: 'Tree 2 page 2: unable to get the page. error code=8458' },
      { check: 'wrong # of entries' },
    ];
  });
  const unread = 'cannot be read or written now: Tree 2 page 2: unable to get the page. error code=8458';
  for (const [args, said] of [
    [['check'], `${url} ${unread}`],
    [['check', '--repair'], `the repair of 1 lists and ETags is done, but not checked: ${url} ${unread}`],
    [['restore', snapshot], `${url} ${unread}`],
  ] as const) {
    const { code, stderr } = await run([...args, '--database-url', url]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(said)]);
  }
});
