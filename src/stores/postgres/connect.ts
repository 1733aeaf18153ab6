// Connections to PostgreSQL, and the rows of a query.
import { readFileSync } from 'node:fs';
import type pg from 'pg';
import type { HostAddress, PostgresAddress } from '../../config/database-url.ts';
import { StoreError } from '../errors.ts';
import type { MemberOf } from '../media-statements.ts';
import type { MergeConnection } from '../merge.ts';

export type Client = pg.Client;
/** A row as an array of texts. */
export type TextRow = (string | null)[];

/** A connection to one of the hosts of the URL. */
export interface HostConnection {
  readonly client: Client;
  /** The host's, for messages. */
  readonly name: string;
}

export const hostName = ({ host, port }: HostAddress) => `${host}:${port}`;

/** Values stay as PostgreSQL writes them: ids would lose digits as numbers. */
const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/** Throws a StoreError if the certificates to trust cannot be read. */
export const clientConfig = (address: PostgresAddress, { host, port }: HostAddress): pg.ClientConfig => ({
  host,
  port,
  user: address.user,
  password: address.password,
  database: address.database,
  ssl: tlsOptions(address),
  connectionTimeoutMillis: address.connectTimeout,
  application_name: 'vitrine',
  keepAlive: true,
  types: AS_TEXT,
});

export function tlsOptions({ sslmode, sslrootcert }: PostgresAddress): pg.ClientConfig['ssl'] {
  if (sslmode === 'disable') return false;
  return {
    rejectUnauthorized: sslmode === 'verify-full',
    ca: sslrootcert === undefined ? undefined : readCertificates(sslrootcert),
  };
}

function readCertificates(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new StoreError(`sslrootcert=${path} cannot be read.`, { cause: error });
  }
}

/** Closes a connection in whatever state it is; its queries fail. */
export function destroy(client: Client): void {
  client.connection.stream.destroy();
}

const FETCH_ROWS = 1000;

/** The rows of a query, fetched in parts; inside the caller's transaction. */
export async function* fetchRows(client: Client, sql: string): AsyncGenerator<string[]> {
  await client.query(`DECLARE rows NO SCROLL CURSOR FOR ${sql}`);
  let failed = false;
  try {
    for (;;) {
      const fetch = { text: `FETCH ${FETCH_ROWS} FROM rows`, rowMode: 'array' as const };
      const { rows } = await client.query<string[]>(fetch);
      yield* rows;
      if (rows.length < FETCH_ROWS) return;
    }
  } catch (error) {
    failed = true;
    throw error;
  } finally {
    // In a transaction that failed, nothing but ROLLBACK works.
    if (!failed) await client.query('CLOSE rows');
  }
}

export const memberOf: MemberOf = (name) => `(members(record) ->> '${name}')`;

/** The connection as SQL that both stores share uses it. */
export function mergeConnection(client: Client): MergeConnection {
  return {
    run: async (sql, values = []) => (await client.query(sql, [...values])).rowCount ?? 0,
    rows: (sql) => fetchRows(client, sql),
    member: memberOf,
    hex: (column) => `encode(${column}, 'hex')`,
  };
}

/** The first column of the first row. */
export async function firstValue(
  client: pg.ClientBase,
  sql: string,
  values: readonly unknown[] = [],
): Promise<string | null | undefined> {
  const { rows } = await client.query<TextRow>({ text: sql, values: [...values], rowMode: 'array' });
  return rows[0]?.[0];
}
