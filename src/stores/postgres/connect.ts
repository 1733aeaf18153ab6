// Connections to PostgreSQL: what every one of them is opened with, and its errors in words for the operator.
import { readFileSync } from 'node:fs';
import pg from 'pg';
import type { HostAddress, PostgresAddress } from '../../config/database-url.ts';
import { StoreError } from '../store.ts';

export type Client = pg.Client;

/** Rows as PostgreSQL words them: nothing here wants a date or a number out of them. */
export const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

export const nameOf = ({ host, port }: HostAddress) => `${host}:${port}`;

/** Opens one connection; whoever asked for it hears of its end by `end`. */
export async function connect(
  address: PostgresAddress,
  host: HostAddress,
  more: pg.ClientConfig = {},
): Promise<Client> {
  const client = prepareClient(address, host, more);
  await client.connect();
  return client;
}

/** A connection that is yet to be made. */
export function prepareClient(
  address: PostgresAddress,
  host: HostAddress,
  more: pg.ClientConfig = {},
): Client {
  const client = new pg.Client({
    ...{
      host: host.host,
      port: host.port,
      user: address.user,
      password: address.password,
      database: address.database,
    },
    ssl: sslOf(address, host),
    application_name: 'vitrine',
    keepAlive: true,
    types: AS_TEXT,
    ...more,
  });
  // A connection that breaks while nobody uses it is no reason to end the process.
  client.on('error', () => {});
  return client;
}

function sslOf({ sslmode, sslrootcert }: PostgresAddress, { host }: HostAddress): pg.ClientConfig['ssl'] {
  if (sslmode === 'disable') return false;
  const ca = sslrootcert === undefined ? undefined : readFileSync(sslrootcert, 'utf8');
  return { rejectUnauthorized: sslmode === 'verify-full', servername: host, ca };
}

/** Gives up a connection whatever state it is in; what waits for it fails. */
export function drop(client: Client): void {
  client.connection.stream.destroy();
}

const WORDS: Record<string, string> = {
  ECONNREFUSED: 'refuses connections',
  ENOTFOUND: 'is a host that is not known',
  ETIMEDOUT: 'does not answer',
  '28000': 'does not let this user in',
  '28P01': 'does not accept the user or the password',
  '3D000': 'has no such database',
  '3F000': 'has no schema to hold tables',
  '42501': 'does not allow this role to do that',
  '42P01': 'has no tables of Vitrine yet: run any writing command on it, such as import, to make them',
  '42P07': 'has tables of another program: give Vitrine a database of its own',
  '53100': 'has no room left on its disk',
  '53300': 'has no connection to spare',
  '55P03': 'is being written by another process; try again when it is done',
  '57P01': 'is shutting down',
  '57P02': 'is shutting down',
  '57P03': 'is starting up',
  '25006': 'is a standby, which cannot be written',
};

/** The SQLSTATE or system code of an error; empty when it has none. */
export const codeOf = (error: unknown): string =>
  String((error as { code?: unknown } | undefined)?.code ?? '');

/** What is wrong with a host, as a sentence that begins with its name. */
export function sentence(name: string, error: unknown): string {
  if (error instanceof StoreError) return error.message;
  const { message } = error as Error;
  if (/timeout/.test(message)) return `The database at ${name} does not answer.`;
  return `The database at ${name} ${WORDS[codeOf(error)] ?? `cannot be used: ${message}`}.`;
}

/** Whether the settings are at fault, so that waiting would not help. */
export const isLasting = (error: unknown) => ['28000', '28P01', '3D000', 'ENOTFOUND'].includes(codeOf(error));

/** Whether the tables are missing, or of an older schema. */
export const isUnprepared = (error: unknown) => error instanceof StoreError || codeOf(error) === '42P01';

/** Runs what talks to a host; the driver's errors become sentences about it. */
export async function explained<T>(name: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(sentence(name, error), { cause: error });
  }
}

const FETCH_ROWS = 1000;

/** The rows of a query, read bit by bit; inside the caller's transaction. */
export async function* rowsOf(client: Client, sql: string): AsyncGenerator<string[]> {
  await client.query(`DECLARE rows NO SCROLL CURSOR FOR ${sql}`);
  for (;;) {
    const { rows } = await client.query<string[]>({
      text: `FETCH ${FETCH_ROWS} FROM rows`,
      rowMode: 'array',
    });
    yield* rows;
    if (rows.length < FETCH_ROWS) break;
  }
  await client.query('CLOSE rows');
}

/** The first column of the first row. */
export async function firstOf(
  client: Client,
  sql: string,
  values: readonly unknown[] = [],
): Promise<string | undefined> {
  const { rows } = await client.query<string[]>({ text: sql, values: [...values], rowMode: 'array' });
  return rows[0]?.[0];
}
