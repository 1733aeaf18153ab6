// Files of all earlier versions reach the schema of a new file, as migrations/schema.sql shows it.
import { copyFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openArchive, openWriter } from '../../../src/stores/open.ts';
import { fixture } from '../../support/files.ts';
import { executeSql, newPath } from '../../support/importing.ts';

/** Columns in any order: those that were added later come last. */
function schemaOf(path: string) {
  using db = Object.assign(new Database(path, { readonly: true }), {
    [Symbol.dispose]: () => void db.close(),
  });
  const all = (sql: string) => db.prepare<[], unknown[]>(sql).raw().all();
  return {
    columns: all(`
      SELECT m.name, c.name, c.type, c."notnull", c.dflt_value, c.pk FROM sqlite_schema AS m CROSS JOIN pragma_table_info(m.name) AS c
      WHERE m.type IN ('table', 'view') ORDER BY 1, 2`),
    tables: all(`SELECT name, wr, strict FROM pragma_table_list WHERE schema = 'main' ORDER BY name`),
    keys: all(`
      SELECT m.name, i.origin, i.partial, group_concat(c.name || c."desc" || c.coll) FROM sqlite_schema AS m
      CROSS JOIN pragma_index_list(m.name) AS i CROSS JOIN pragma_index_xinfo(i.name) AS c
      WHERE m.type = 'table' GROUP BY m.name, i.name, i.origin, i.partial ORDER BY 1, 2, 4`),
    indexes: all(
      `SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name`,
    ),
    views: all(
      `SELECT name, replace(sql, char(10), ' ') FROM sqlite_schema WHERE type = 'view' ORDER BY name`,
    ),
    triggers: all(`SELECT name FROM sqlite_schema WHERE type = 'trigger'`),
  };
}

test.each([4, 5, 9, 12, 17])('a file of schema %i gets the schema of a new one', async (version) => {
  const [older, fresh] = [newPath(), newPath()];
  copyFileSync(fixture(`older/schema-${version}.db`), older);
  for (const path of [older, fresh]) await (await openWriter(path)).close();
  // A new file in which nothing was stored is removed.
  await using writer = await openWriter(fresh);
  expect(schemaOf(older)).toEqual(schemaOf(fresh));
  expect(writer).toBeDefined();
});

test('subscribers are told of everything after a migration that leaves no changes', async () => {
  const path = newPath();
  copyFileSync(fixture('older/schema-12.db'), path);
  executeSql(
    path,
    `INSERT INTO generations VALUES (7); INSERT INTO changes (family, user_key, list) VALUES ('portfolio', 'ada', 7)`,
  );
  await (await openWriter(path)).close();
  await using archive = await openArchive(path);
  expect(await archive.changes(7)).toMatchObject({ changes: 'everything' });
});

test('names of caches that hold a secret path are forgotten, and those that hide it stay', async () => {
  const path = newPath();
  copyFileSync(fixture('older/schema-17.db'), path);
  const names = ['post:HTTPS://purge.example/s3cret', 'post:https://purge.example/…1a2b3c4d', 'nginx:/cache'];
  for (const name of names) executeSql(path, `INSERT INTO subscribers VALUES ('${name}', 1)`);
  await (await openWriter(path)).close();
  using db = Object.assign(new Database(path, { readonly: true }), {
    [Symbol.dispose]: () => void db.close(),
  });
  const kept = db.prepare("SELECT name FROM subscribers WHERE name LIKE '%:%' ORDER BY name").pluck().all();
  expect(kept).toEqual(names.slice(1).sort());
});

test('what an older file knows of copies stays, once for each copy', async () => {
  const path = newPath();
  copyFileSync(fixture('older/schema-17.db'), path);
  await (await openWriter(path)).close();
  await using archive = await openArchive(path);
  const [first, second] = await archive.copies('');
  expect(first).toMatchObject({ bytes: 1000, isMeasured: false, small: [{ width: 480, hash: 'abcd' }] });
  expect(second).toMatchObject({ bytes: 1000, isMeasured: false, failedDecodes: 2 });
  expect(await archive.mediaSummary()).toEqual({ copies: 3, files: 2, bytes: 2000 });
});
