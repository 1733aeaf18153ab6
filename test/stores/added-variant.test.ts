// A variant that is added to the table serves the users of a database that was filled before.
import '../support/more-variants.ts';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, expect, test } from 'vitest';
import { openServed } from '../../src/stores/open.ts';
import { databaseOf } from '../support/database.ts';
import { fixture, tempFolder } from '../support/files.ts';
import { done, run } from '../support/run.ts';

/** A database as the program without the variants leaves it. */
async function earlier(): Promise<string> {
  const url = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
  const db = new Database(url);
  db.exec(`
    DELETE FROM lists WHERE collection IN ('Pieces', 'notes');
    UPDATE vitrine SET shape = json_set(shape, '$.lists', json('["posts","Shots","Posts"]'))`);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  return url;
}

let url: string;
beforeEach(async () => {
  url = await earlier();
});

const LACKS = /lacks fields or lists that this version serves: run `vitrine migrate`/;

test('a server names the command that makes the lists, and serves them after it', async () => {
  const reader = await openServed(url, () => {});
  await expect(async () => reader.items('portfolio', 'ada', 'Pieces')).rejects.toThrow(LACKS);
  await done(['migrate', '--database-url', url]);
  const [shots, works] = [
    await reader.items('portfolio', 'ada', 'Shots'),
    await reader.items('portfolio', 'ada', 'Pieces'),
  ];
  expect(works?.etag).toBe(shots?.etag);
  expect(JSON.parse(String(works?.body)).Pieces).toEqual(JSON.parse(String(shots?.body)).Shots);
  await reader.close();
  expect(await done(['check', '--database-url', url])).toContain('is sound');
});

test('an import makes the lists of all users', async () => {
  expect((await run(['check', '--database-url', url])).stderr).toMatch(LACKS);
  await done(['import', '--database-url', url, '-'], { input: '{"id":"4711","username":"new","Likes":"1"}' });
  expect(await done(['check', '--database-url', url])).toContain('is sound');
});

test('a snapshot from before the variant can be restored', async () => {
  const other = join(tempFolder(), 'site.db');
  await done(['restore', '--database-url', other, url]);
  expect(await done(['check', '--database-url', other])).toContain('is sound');
});
