// What SQL that both stores share needs of SQLite: functions that it has not, and statements as on any connection.

import type { Database, Statement } from 'better-sqlite3';
import { computeEtag } from '../../records/etag.ts';
import { searchTags, searchWords } from '../../records/search-words.ts';
import { collectionsOf } from '../../variants.ts';
import { makeBody } from '../sql/packing.ts';
import type { SqlAdapter, TextRow } from '../sql/sql-adapter.ts';
import { takedownHash } from '../sql/takedowns.ts';
import { bytes, storeLists } from './lists.ts';

export function addFunctions(db: Database): void {
  db.function('etag_of', { deterministic: true }, (text) => computeEtag(text));
  db.function('body_of', { deterministic: true }, (text) => makeBody(text));
  db.function('words_of', { deterministic: true }, (record) => searchWords(JSON.parse(String(record))));
  db.function('words_of_tags', { deterministic: true }, (list) => searchTags(String(list)));
  db.function('takedown_hash', { deterministic: true }, (salt, family, what, value) =>
    takedownHash(String(salt), String(family), String(what), String(value)),
  );
}

export function sqlAdapter(db: Database): SqlAdapter {
  const prepared = new Map<string, Statement>();
  function run(sql: string, values: readonly (string | Buffer)[] = []): number {
    const statement = prepared.get(sql) ?? db.prepare(sql);
    prepared.set(sql, statement);
    return statement.run(Object.fromEntries(values.map((value, index) => [index + 1, value]))).changes;
  }
  return {
    run,
    storeLists: (family, served) => run(storeLists(family, served)) / collectionsOf(family).length,
    clear: (table) => run(`DELETE FROM ${table}`),
    countForPlanner: () => {},
    // The caller names the columns that its query selects.
    rows: <Row extends TextRow>(sql: string) => readTexts(db, sql) as Generator<Row>,
    member: (name) => `(record ->> '${name}')`,
    bytes,
    each: (array) => `json_each(${array})`,
    hex: (column) => `hex(${column})`,
    hasOthers: (column, ranges) => `${column} GLOB '*[^${ranges}]*'`,
    now: "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
  };
}

function* readTexts(db: Database, sql: string): Generator<TextRow> {
  for (const row of db.prepare<[], (string | number | null)[]>(sql).raw().iterate())
    yield row.map((value) => (typeof value === 'number' ? String(value) : value));
}
