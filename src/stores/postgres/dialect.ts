// What SQL that both stores share needs of PostgreSQL, and the rows of a query.

import type pg from 'pg';
import type { MemberSql } from '../sql/media-statements.ts';
import type { SqlAdapter, TextRow } from '../sql/sql-adapter.ts';
import { storeLists } from './lists.ts';

export const member: MemberSql = (name) => `(members(record) ->> '${name}')`;

export function sqlAdapter(client: pg.Client): SqlAdapter {
  return {
    run: async (sql, values = []) => (await client.query(sql, [...values])).rowCount ?? 0,
    rows: <Row extends TextRow>(sql: string) => fetchRows<Row>(client, sql),
    storeLists: (family, served) => storeLists(client, family, served),
    clear: (table) => client.query(`TRUNCATE ${table}`),
    countForPlanner: async (tables, changes = Number.POSITIVE_INFINITY) =>
      changes > WORTH_COUNTING && (await client.query(`ANALYZE ${tables}`)),
    member,
    bytes: (text) => text,
    each: (array) => `LATERAL json_array_elements_text(${array}::json)`,
    hex: (column) => `encode(${column}, 'hex')`,
    hasOthers: (column, ranges) => `${column} ~ '[^${ranges}]'`,
    now: '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint',
  };
}

/** After so many changes the planner must know at once, not when autovacuum gets to it. */
const WORTH_COUNTING = 1000;

const FETCH_ROWS = 1000;

/** The rows of a query, fetched in parts; inside the caller's transaction. */
async function* fetchRows<Row extends TextRow>(client: pg.Client, sql: string): AsyncGenerator<Row> {
  await client.query(`DECLARE rows NO SCROLL CURSOR FOR ${sql}`);
  try {
    for (;;) {
      const fetch = { text: `FETCH ${FETCH_ROWS} FROM rows`, rowMode: 'array' as const };
      const { rows } = await client.query<Row>(fetch);
      yield* rows;
      if (rows.length < FETCH_ROWS) return;
    }
  } finally {
    // In a transaction that failed, nothing but ROLLBACK works.
    await client.query('CLOSE rows').catch(() => {});
  }
}

export async function firstValue(client: pg.ClientBase, sql: string): Promise<string | null | undefined> {
  return (await queryRows<TextRow>(client, sql))[0]?.[0];
}

/** The few rows of a query, all at once. */
export async function queryRows<Row extends TextRow>(client: pg.ClientBase, sql: string): Promise<Row[]> {
  return (await client.query<Row>({ text: sql, rowMode: 'array' })).rows;
}

/**
 * Work on all data takes as long as it takes, whatever limits an administrator has set for sessions. Compiling a query takes
 * PostgreSQL longer than our queries gain by it: of a million users, most of a takedown.
 */
export const FOR_COMMANDS =
  'SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL jit = off';

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
