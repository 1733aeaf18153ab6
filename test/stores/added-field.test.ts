// A field that is added to the schemas gets its default in the records and lists that a database has.
import '../support/more-fields.ts';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { openArchive, openServed } from '../../src/stores/open.ts';
import { importInto } from '../support/database.ts';
import { fixture, PROGRAM, tempFolder, ugly } from '../support/files.ts';
import { executeSql, exported, newPath } from '../support/importing.ts';
import { done, run } from '../support/run.ts';

const FILES = [
  fixture('microblog.ndjson'),
  fixture('portfolio.ndjson'),
  ugly('hostile-names.ndjson'),
  ugly('hostile-texts.ndjson'),
];

let earlier: string;
let fresh: string;
let url: string;

beforeAll(async () => {
  // Another process has the schemas without the fields.
  earlier = newPath();
  execFileSync(process.execPath, [PROGRAM, 'import', '--quiet', '--database-url', earlier, ...FILES]);
  fresh = newPath();
  await importInto(fresh, FILES);
});

beforeEach(() => {
  url = newPath();
  copyFileSync(earlier, url);
});

const LACKS = /lacks fields or lists that this version serves: run `vitrine migrate`/;

function select(path: string, sql: string): unknown[][] {
  const db = new Database(path, { readonly: true });
  const rows = db.prepare<[], unknown[]>(sql).raw().all();
  db.close();
  return rows;
}

test('a server names the command that adds it, and serves it after that', async () => {
  const reader = await openServed(url, () => {});
  await expect(async () => reader.items('microblog', 'ada', 'posts')).rejects.toThrow(LACKS);
  await done(['migrate', '--database-url', url]);
  const list = await reader.items('microblog', 'ada', 'posts');
  expect(JSON.parse(String(list?.body)).posts[0]).toMatchObject({ made_up: '' });
  await reader.close();
});

const ANSWERS = [
  'SELECT family, id, etag, served FROM profiles ORDER BY family, id',
  'SELECT family, owner, collection, etag, body FROM lists ORDER BY family, owner, collection',
];

test('what is stored is then what an import of the same records would store', async () => {
  await done(['migrate', '--database-url', url]);
  expect(await exported(url)).toEqual(await exported(fresh));
  for (const served of ANSWERS) expect(select(url, served)).toEqual(select(fresh, served));
  expect(await done(['check', '--database-url', url])).toContain('is sound');
  expect(await done(['import', '--database-url', url, ...FILES])).not.toMatch(/[1-9]\d* +\d+ +\d+$/m);
});

test('SQL tools find new fields as the last columns of the view', async () => {
  await done(['migrate', '--database-url', url]);
  const columns = select(url, "SELECT name FROM pragma_table_info('posts')").flat();
  expect(columns.slice(-3)).toEqual(['made_up', 'made_up_too', 'made_up_last']);
  expect(select(url, 'SELECT DISTINCT made_up FROM posts')).toEqual([['']]);
});

test('an import adds it to all records', async () => {
  expect((await run(['check', '--database-url', url])).stderr).toMatch(LACKS);
  const input = '{"id":"4711","username":"new","Likes":"1","made_up_first":"1"}';
  await done(['import', '--database-url', url, '-'], { input });
  expect(await done(['check', '--database-url', url])).toContain('is sound');
});

test('the answers of all users count as changed', async () => {
  const [before] = select(url, 'SELECT generation FROM vitrine').flat();
  await done(['migrate', '--database-url', url]);
  const archive = await openArchive(url);
  expect((await archive.changes(Number(before))).changes).toBe('everything');
  await archive.close();
});

test('copies of pictures stay in what is served', async () => {
  executeSql(
    url,
    `UPDATE vitrine SET media_url = 'https://media.example';
    INSERT INTO media (url, file, linked_file)
      SELECT url, id || '.png', id || '.png' FROM (
        SELECT max(id) AS id, photo AS url FROM posts WHERE photo LIKE 'http%'
        UNION SELECT max(id), avatar FROM portfolio_profiles
        WHERE avatar LIKE 'http%' AND avatar NOT IN (SELECT avatar FROM microblog_profiles))`,
  );
  expect(select(url, 'SELECT count(*) FROM media')).toEqual([[2]]);
  await done(['migrate', '--database-url', url]);
  expect(await done(['check', '--database-url', url])).toContain('is sound');
  expect(JSON.stringify(await exported(url))).not.toContain('https://media.example');
});

test('a snapshot from before the field can be restored', async () => {
  const other = join(tempFolder(), 'site.db');
  await done(['restore', '--database-url', other, url]);
  expect(await exported(other)).toEqual(await exported(fresh));
});

test('a program that does not know the field refuses the database', () => {
  const { stderr } = spawnSync(process.execPath, [PROGRAM, 'check', '--database-url', fresh]);
  expect(String(stderr)).toMatch(
    /was made by a newer version of Vitrine \(its posts have the field made_up\)/,
  );
});

test('a view that was lost is no lack of fields', async () => {
  await done(['migrate', '--database-url', url]);
  executeSql(url, 'DROP VIEW posts');
  expect(await done(['check', '--database-url', url])).toContain('is sound');
});

test('a damaged record stays as it is, and the others get the fields', async () => {
  executeSql(url, "UPDATE items SET record = '{\"id\"' WHERE family = 'microblog' AND id = 109815");
  await done(['migrate', '--database-url', url]);
  const { stderr } = await run(['check', '--database-url', url]);
  expect(stderr).toContain(
    'is not sound: 1 records are filed under values they do not hold (microblog "109815")',
  );
});
