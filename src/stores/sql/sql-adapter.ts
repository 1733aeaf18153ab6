// What SQL that both stores share needs of a database. Each store makes one in its dialect.ts.

import type { Family } from '../../records/kinds.ts';
import type { Awaitable } from '../reader.ts';
import type { MemberSql } from './media-statements.ts';

/** A row of a query: numbers are texts, as PostgreSQL sends them. */
export type TextRow = (string | null)[];

export interface SqlAdapter {
  /** Runs a statement with values for $1, $2 and so on; how many rows it changed. */
  run(sql: string, values?: readonly (string | Buffer)[]): Awaitable<number>;
  /** The rows of a query; the caller knows its columns. */
  rows<Row extends TextRow>(sql: string): Iterable<Row> | AsyncIterable<Row>;
  /** Stores the lists of the users in `touched` that differ; of how many. `served` is the SQL for an item as it is served. */
  storeLists(family: Family, served: string): Awaitable<number>;
  /** Deletes all rows of a work table. In PostgreSQL, deleted rows would be read over and over until the transaction ends. */
  clear(table: string): Awaitable<unknown>;
  /** Counts the rows of tables for the planner, after so many changes of them, or always. SQLite's does not count. */
  countForPlanner(tables: string, changes?: number): Awaitable<unknown>;
  readonly member: MemberSql;
  /** The SQL for a text as bytes, where the program gets it faster. */
  readonly bytes: (text: string) => string;
  /** The SQL for the texts of a JSON array, as a table with the column `value`. */
  readonly each: (array: string) => string;
  /** The SQL for the bytes of a column as hexadecimal digits. */
  readonly hex: (column: string) => string;
  /** The SQL for whether a text has a character outside of these ranges. */
  readonly hasOthers: (column: string, ranges: string) => string;
  /** The SQL for the time in microseconds since 1970. */
  readonly now: string;
}

/** Runs an action in a transaction with the work tables of an import. */
export type Change = <T>(action: (db: SqlAdapter) => Promise<T>) => Promise<T>;

export type Rows = Pick<SqlAdapter, 'rows' | 'member' | 'hex' | 'each'>;

export async function firstRow(db: Rows, query: string): Promise<TextRow> {
  for await (const row of db.rows<TextRow>(query)) return row;
  return [];
}

export const countRows = async (db: Rows, query: string) => Number((await firstRow(db, query))[0] ?? 0);
