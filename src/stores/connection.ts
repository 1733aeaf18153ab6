// A connection as SQL that both stores share uses it. Each store makes one in its dialect.ts.
import type { MemberSql } from './media-statements.ts';
import type { Awaitable } from './reader.ts';

export interface StoreConnection {
  /** Runs a statement with values for $1, $2 and so on; how many rows it changed. */
  run(sql: string, values?: readonly (string | Buffer)[]): Awaitable<number>;
  /** The rows of a query, as arrays of texts. */
  rows(sql: string): Iterable<string[]> | AsyncIterable<string[]>;
  readonly member: MemberSql;
  /** The SQL for the bytes of a column as hexadecimal digits. */
  readonly hex: (column: string) => string;
  /** The SQL for the time in microseconds since 1970. */
  readonly now: string;
}

/** What reading needs of it. */
export type Rows = Pick<StoreConnection, 'rows' | 'member' | 'hex'>;

export async function firstRow(db: Rows, query: string): Promise<readonly (string | undefined)[]> {
  for await (const row of db.rows(query)) return row;
  return [];
}

export const countRows = async (db: Rows, query: string) => Number((await firstRow(db, query))[0] ?? 0);
