// Item lists stay as they would be after one import: those of long lists, those of others, and those of older schemas.
import { copyFileSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { checkDatabase } from '../../src/stores/open.ts';
import { schemaOf } from '../../src/stores/sql/migrations.ts';
import { addRecords } from '../support/database.ts';
import { fixture, readRecords } from '../support/files.ts';
import { ask } from '../support/http.ts';
import { executeSql, exported, newPath } from '../support/importing.ts';
import { blog, post } from '../support/records.ts';
import { done, run } from '../support/run.ts';
import { serveHere } from '../support/serve-here.ts';

/** The database is sound and equals one made by a single import. */
async function expectSame(url: string, records: readonly object[]): Promise<void> {
  const fresh = newPath();
  await addRecords(fresh, ...records);
  expect(await exported(url)).toEqual(await exported(fresh));
  expect((await checkDatabase(url)).faults).toEqual([]);
}

test('importing the same records again writes no lists', async () => {
  const url = newPath();
  const records = [blog(1, 'user1'), blog(2, 'user2'), post(1, 1), post(2, 2)];
  await addRecords(url, ...records);
  executeSql(
    url,
    `CREATE TRIGGER no_list BEFORE INSERT ON lists WHEN new.user_key = 'user2'
    BEGIN SELECT raise(ABORT, 'wrote the list of user2'); END`,
  );
  await addRecords(url, ...records);
  await addRecords(url, post(3, 1));
  await expect(addRecords(url, post(4, 2))).rejects.toThrow('wrote the list of user2');
});

test.each([4, 5, 9, 12, 17])('a file of schema %i is migrated without changing its data', async (version) => {
  const records = readRecords(fixture('older/records.ndjson'));
  const url = newPath();
  copyFileSync(fixture(`older/schema-${version}.db`), url);
  for (const command of ['export', 'check']) {
    const { code, stderr } = await run([command, '--database-url', url]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^vitrine: .*older schema \(\d+, wanted \d+\): run `vitrine migrate`.*\n$/),
    ]);
  }
  const current = schemaOf('sqlite').current;
  // Version 1.3 leaves none.
  const traces =
    version > 12
      ? ''
      : `${url} was written by a version before 1.3, which left deleted data in unused space: \`vitrine migrate --compact\` erases that once and for all.\n`;
  expect(await done(['migrate', '--database-url', url])).toBe(
    `${url} was migrated from schema ${version} to schema ${current}\n${traces}`,
  );
  expect(await done(['migrate', '--database-url', url])).toBe(
    `${url} has schema ${current} already\n${traces}`,
  );
  expect(statSync(`${url}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
  expect(await done(['migrate', '--compact', '--database-url', url])).toBe(
    `${url} has schema ${current} already\nit was written anew, without unused space\n`,
  );
  expect(await done(['migrate', '--database-url', url])).toBe(`${url} has schema ${current} already\n`);
  await expectSame(url, records);
  const server = await serveHere({ DATABASE_URL: url });
  expect((await ask(server, '/readyz')).status).toBe(200);
  const db = new Database(url, { readonly: true });
  expect(db.prepare('SELECT id FROM posts ORDER BY id').pluck().all()).toHaveLength(17);
  db.close();
});

test('a file of a version before 1.0 is refused, and told what to do', async () => {
  const url = newPath();
  copyFileSync(fixture('older/schema-4.db'), url);
  executeSql(url, 'PRAGMA user_version = 3');
  for (const command of ['migrate', 'export']) {
    const { code, stderr } = await run([command, '--database-url', url]);
    expect([code, stderr]).toEqual([
      1,
      `vitrine: ${url} was made before version 1.0 (schema 3): export it with that version, and import it into a new database.\n`,
    ]);
  }
});
