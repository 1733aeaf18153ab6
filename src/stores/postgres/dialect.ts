// What SQL that both stores share needs of PostgreSQL, and the rows of a query.
import type pg from 'pg';
import type { StoreConnection } from '../connection.ts';
import type { MemberSql } from '../media-statements.ts';

/** A row as an array of texts. */
export type TextRow = (string | null)[];

export const member: MemberSql = (name) => `(members(record) ->> '${name}')`;

/** The connection as SQL that both stores share uses it. */
export function storeConnection(client: pg.Client): StoreConnection {
  return {
    run: async (sql, values = []) => (await client.query(sql, [...values])).rowCount ?? 0,
    rows: (sql) => fetchRows(client, sql),
    member,
    hex: (column) => `encode(${column}, 'hex')`,
    now: '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint',
  };
}

const FETCH_ROWS = 1000;

/** The rows of a query, fetched in parts; inside the caller's transaction. */
async function* fetchRows(client: pg.Client, sql: string): AsyncGenerator<string[]> {
  await client.query(`DECLARE rows NO SCROLL CURSOR FOR ${sql}`);
  try {
    for (;;) {
      const fetch = { text: `FETCH ${FETCH_ROWS} FROM rows`, rowMode: 'array' as const };
      const { rows } = await client.query<string[]>(fetch);
      yield* rows;
      if (rows.length < FETCH_ROWS) return;
    }
  } finally {
    // In a transaction that failed, nothing but ROLLBACK works.
    await client.query('CLOSE rows').catch(() => {});
  }
}

/** The first column of the first row. */
export async function firstValue(client: pg.ClientBase, sql: string): Promise<string | null | undefined> {
  const { rows } = await client.query<TextRow>({ text: sql, rowMode: 'array' });
  return rows[0]?.[0];
}

export async function inTransaction<T>(
  client: pg.Client,
  begin: string,
  action: () => Promise<T>,
): Promise<T> {
  await client.query(begin);
  try {
    const result = await action();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}
