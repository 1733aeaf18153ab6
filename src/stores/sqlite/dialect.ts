// What SQL that both stores share needs of SQLite: functions that it has not, and statements as on any connection.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database, Statement } from 'better-sqlite3';
import { computeEtag } from '../../records/etag.ts';
import { KIND_NAMES, KINDS, type KindName } from '../../records/kinds.ts';
import { searchWords } from '../../records/search-words.ts';
import { type Counts, countsFrom } from '../reader.ts';
import { table } from '../sql/media-statements.ts';
import { isLong, makeBody, pack } from '../sql/packing.ts';
import type { SqlAdapter, TextRow } from '../sql/sql-adapter.ts';
import { takedownHash } from '../sql/takedowns.ts';

export function addFunctions(db: Database): void {
  db.function('etag_of', { deterministic: true }, (text) => computeEtag(text));
  db.function('packed_of', { deterministic: true }, (text) => (isLong(text) ? pack(text) : null));
  db.function('body_of', { deterministic: true }, (text) => makeBody(text));
  db.function('words_of', { deterministic: true }, (username, name) =>
    searchWords(String(username), String(name)),
  );
  db.function('takedown_hash', { deterministic: true }, (salt, family, what, value) =>
    takedownHash(String(salt), String(family), String(what), String(value)),
  );
}

export function sqlAdapter(db: Database): SqlAdapter {
  const prepared = new Map<string, Statement>();
  return {
    run(sql, values = []) {
      const statement = prepared.get(sql) ?? db.prepare(sql);
      prepared.set(sql, statement);
      return statement.run(Object.fromEntries(values.map((value, index) => [index + 1, value]))).changes;
    },
    rows: <Row extends TextRow>(sql: string) => readTexts(db, sql) as Generator<Row>,
    member: (name) => `(record ->> '${name}')`,
    bytes: (text) => `CAST(${text} AS BLOB)`,
    hex: (column) => `hex(${column})`,
    now: "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
  };
}

function* readTexts(db: Database, sql: string): Generator<TextRow> {
  for (const row of db.prepare(sql).raw().iterate() as Iterable<(string | number | null)[]>)
    yield row.map((value) => (typeof value === 'number' ? String(value) : value));
}

/** Rows that are counted without a pause. */
const SLICE = 20_000;

const countSlice = (table: string) => `
  SELECT count(*), CAST(max(id) AS TEXT) FROM (
    SELECT id FROM ${table} WHERE family = ? AND id > CAST(? AS INTEGER) ORDER BY id LIMIT ${SLICE})`;

/** In slices, so that lookups do not wait for it. */
export async function readCounts(db: Database): Promise<Counts> {
  const counts: [KindName, number][] = [];
  for (const kind of KIND_NAMES) {
    const slice = db.prepare(countSlice(table(kind))).raw();
    let sum = 0;
    for (let last: string | null = '0'; last !== null; ) {
      const [rows, end] = slice.get(KINDS[kind].family, last) as [number, string | null];
      sum += rows;
      last = rows < SLICE ? null : end;
      await nextTurn();
    }
    counts.push([kind, sum]);
  }
  return countsFrom(counts);
}
