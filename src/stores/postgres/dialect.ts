// What SQL that both stores share needs of PostgreSQL, and the rows of a query.
import type pg from 'pg';
import type { MemberSql } from '../media-statements.ts';
import type { SqlAdapter, TextRow } from '../sql-adapter.ts';

export const member: MemberSql = (name) => `(members(record) ->> '${name}')`;

export function sqlAdapter(client: pg.Client): SqlAdapter {
  return {
    run: async (sql, values = []) => (await client.query(sql, [...values])).rowCount ?? 0,
    rows: <Row extends TextRow>(sql: string) => fetchRows(client, sql) as AsyncGenerator<Row>,
    member,
    bytes: (text) => text,
    hex: (column) => `encode(${column}, 'hex')`,
    now: '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint',
  };
}

const FETCH_ROWS = 1000;

/** The rows of a query, fetched in parts; inside the caller's transaction. */
async function* fetchRows(client: pg.Client, sql: string): AsyncGenerator<TextRow> {
  await client.query(`DECLARE rows NO SCROLL CURSOR FOR ${sql}`);
  try {
    for (;;) {
      const fetch = { text: `FETCH ${FETCH_ROWS} FROM rows`, rowMode: 'array' as const };
      const { rows } = await client.query<TextRow>(fetch);
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
