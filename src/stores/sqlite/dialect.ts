// What SQL that both stores share needs of SQLite: functions that it has not, and statements as on any connection.
import type { Database, Statement } from 'better-sqlite3';
import { computeEtag } from '../../records/etag.ts';
import type { StoreConnection } from '../connection.ts';
import { COUNTS, countsFrom } from '../counts.ts';
import { pack } from '../packing.ts';
import type { Counts } from '../reader.ts';
import { takedownHash } from '../takedowns.ts';

export function addFunctions(db: Database): void {
  db.function('etag_of', { deterministic: true }, (text) => computeEtag(String(text)));
  db.function('pack', { deterministic: true }, (text) => pack(String(text)));
  db.function('takedown_hash', { deterministic: true }, (salt, family, what, value) =>
    takedownHash(String(salt), String(family), String(what), String(value)),
  );
}

/** The connection as SQL that both stores share uses it. */
export function storeConnection(db: Database): StoreConnection {
  const prepared = new Map<string, Statement>();
  return {
    run(sql, values = []) {
      const statement = prepared.get(sql) ?? db.prepare(sql);
      prepared.set(sql, statement);
      return statement.run(Object.fromEntries(values.map((value, index) => [index + 1, value]))).changes;
    },
    rows: (sql) => db.prepare(sql).raw().iterate() as Iterable<string[]>,
    member: (name) => `(record ->> '${name}')`,
    hex: (column) => `hex(${column})`,
    now: "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
  };
}

export const readCounts = (db: Database): Counts => countsFrom(db.prepare(COUNTS).raw().all() as unknown[][]);
