// Connections to PostgreSQL: how each is opened, sessions that cannot write, and the rows of a query.
import { readFileSync } from 'node:fs';
import pg from 'pg';
import type { HostAddress, PostgresAddress } from '../../config/database-url.ts';
import { StoreError } from '../errors.ts';
import type { MergeConnection } from '../merge.ts';

export type Client = pg.Client;
/** A row as an array of texts. */
export type Row = (string | null)[];

/** Values stay as PostgreSQL writes them: ids would lose digits as numbers. */
const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/** A session with one host, chosen among those of the URL. */
export interface Session {
  readonly client: Client;
  readonly name: string;
}

export const nameOf = ({ host, port }: HostAddress) => `${host}:${port}`;

/** A connection that is yet to be made. */
export function newClient(address: PostgresAddress, where: HostAddress, more: pg.ClientConfig = {}): Client {
  const client = new pg.Client({
    host: where.host,
    port: where.port,
    user: address.user,
    password: address.password,
    database: address.database,
    ssl: sslOf(address),
    connectionTimeoutMillis: address.connectTimeout,
    application_name: 'vitrine',
    keepAlive: true,
    types: AS_TEXT,
    ...more,
  });
  // Whoever uses the connection hears of its end; an idle one that breaks must not crash the process.
  client.on('error', () => {});
  return client;
}

/** Throws a sentence when the certificates to trust cannot be read. */
export function sslOf({ sslmode, sslrootcert }: PostgresAddress): pg.ClientConfig['ssl'] {
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

/** Closes a connection in whatever state it is; what waits for it fails. */
export function drop(client: Client): void {
  client.connection.stream.destroy();
}

/** How long the server works on a lookup that perhaps nobody waits for any more. */
const STATEMENT_MS = 3000;

/** A connection for reading that is yet to be made. Its queries are sent without waiting for earlier answers. */
export const newReadingClient = (address: PostgresAddress, where: HostAddress): Client =>
  newClient(address, where, {
    pipeline: true,
    query_timeout: STATEMENT_MS,
    options: `-c default_transaction_read_only=on -c statement_timeout=${STATEMENT_MS}`,
  });

export interface ReadingSession {
  /** A pooler is in between: settings of the session, such as LISTEN, do not hold. */
  readonly pooled: boolean;
  query(query: pg.QueryConfig): Promise<Row[]>;
}

/** Connects. A pooler may have dropped the options of the start; then each query gets a transaction that says them. */
export async function startReading(client: Client): Promise<ReadingSession> {
  await client.connect();
  const pooled = (await firstOf(client, 'SHOW default_transaction_read_only')) !== 'on';
  const query = async (query: pg.QueryConfig) =>
    (await client.query<Row>({ ...query, rowMode: 'array' })).rows;
  if (!pooled) return { pooled, query };
  return {
    pooled,
    async query(asked) {
      const [, rows] = await Promise.all([
        client.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${STATEMENT_MS}`),
        // Without a name: the next transaction may reach another server process, which has not prepared it.
        query({ ...asked, name: undefined }),
        client.query('COMMIT'),
      ]);
      return rows;
    },
  };
}

const FETCH_ROWS = 1000;

/** The rows of a query, read some at a time; inside the caller's transaction. */
export async function* rowsOf(client: Client, sql: string): AsyncGenerator<string[]> {
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

/** A connection as the SQL that both stores share sees it. */
export function mergeConnection(client: Client): MergeConnection {
  return {
    run: async (sql, values = []) => (await client.query(sql, [...values])).rowCount ?? 0,
    rows: (sql) => rowsOf(client, sql),
    member: (name) => `(members(record) ->> '${name}')`,
  };
}

/** The first column of the first row. */
export async function firstOf(
  client: Client,
  sql: string,
  values: readonly unknown[] = [],
): Promise<string | null | undefined> {
  const { rows } = await client.query<Row>({ text: sql, values: [...values], rowMode: 'array' });
  return rows[0]?.[0];
}

/** Fails when it takes too long, unless it was this process that was slow and the answer has come by now. */
export function within<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' }));
    const timer = setTimeout(() => setImmediate(late), milliseconds);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Says goodbye, but does not wait long for a host that is not there. */
export async function end(client: Client): Promise<void> {
  await within(GOODBYE_MS, client.end()).catch(() => drop(client));
}

const GOODBYE_MS = 600;
