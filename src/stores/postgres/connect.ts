// Connections to PostgreSQL, and for commands: which of the hosts of a URL to connect to.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { type HostAddress, type PostgresAddress, parsePostgresUrl } from '../../config/database-url.ts';
import { StoreError } from '../errors.ts';
import { FOR_COMMANDS, firstValue, queryRows } from './dialect.ts';
import { NO_TURN, toStoreError } from './errors.ts';
import { refuseOtherContents, refuseUnfit, refuseUnusable } from './migrate.ts';
import { withTimeout } from './with-timeout.ts';

export interface HostConnection {
  readonly client: pg.Client;
  /** The host's, for messages. */
  readonly name: string;
}

export const hostName = ({ host, port }: HostAddress) => `${host}:${port}`;

/** Values stay as PostgreSQL writes them: ids would lose digits as numbers. */
const AS_TEXT: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };

/** Throws a StoreError if a certificate cannot be read. */
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

function tlsOptions(address: PostgresAddress): pg.ClientConfig['ssl'] {
  const { sslmode } = address;
  if (sslmode === 'disable') return false;
  const [cert, key] = [readFile(address, 'sslcert'), readFile(address, 'sslkey')];
  // Otherwise the database would be blamed for it.
  if (cert !== undefined && key !== undefined && !isPair(cert, key))
    throw new StoreError(
      'sslcert and sslkey must name a certificate and its key, in PEM and without a passphrase.',
    );
  return {
    rejectUnauthorized: sslmode !== 'require',
    ca: readFile(address, 'sslrootcert'),
    cert,
    key,
    // With verify-ca, any name will do.
    ...(sslmode === 'verify-ca' && { checkServerIdentity: () => undefined }),
  };
}

function isPair(cert: string, key: string): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function readFile(address: PostgresAddress, name: 'sslrootcert' | 'sslcert' | 'sslkey'): string | undefined {
  const path = address[name];
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new StoreError(`The file ${path} of ${name} cannot be read.`, { cause: error });
  }
}

export const openPrimary = (url: string) => openNewest(url, true);

/** Reads from the host with the newest data, standby or not: all of it as of one moment. */
export async function openSnapshot(url: string): Promise<HostConnection> {
  const newest = await openNewest(url, false);
  return await closeIfFailed(newest, async ({ client, name }) => {
    await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${FOR_COMMANDS}`);
    const database = `The database at ${name}`;
    refuseUnfit(database, Number(await firstValue(client, 'SELECT schema FROM vitrine')));
    await refuseOtherContents(database, (text) => queryRows(client, text));
    return newest;
  });
}

/** Begins to use a connection, which is closed if that fails. */
export async function closeIfFailed<T>(
  connection: HostConnection,
  action: (connection: HostConnection) => Promise<T>,
): Promise<T> {
  try {
    return await action(connection);
  } catch (error) {
    await connection.client.end();
    throw toStoreError(connection.name, error);
  }
}

/** Connects to all hosts and keeps the one with the newest data: of two primaries, the old one is behind. */
async function openNewest(url: string, mustWrite: boolean): Promise<HostConnection> {
  const address = parsePostgresUrl(url);
  const results = await Promise.allSettled(address.hosts.map((where) => connect(address, where, mustWrite)));
  const connections = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const [newest, ...others] = connections.toSorted((a, b) => b.generation - a.generation);
  await Promise.all(others.map(({ client }) => client.end()));
  if (newest !== undefined) return newest;
  throw new StoreError(results.map((result) => 'reason' in result && result.reason.message).join(' '));
}

async function connect(address: PostgresAddress, where: HostAddress, mustWrite: boolean) {
  const client = new pg.Client(clientConfig(address, where));
  // Queries report that the connection broke; while it is idle that must not crash the process.
  client.on('error', () => {});
  return await closeIfFailed({ client, name: hostName(where) }, async ({ name }) => {
    await client.connect();
    const first = firstValue(client, 'SELECT pg_is_in_recovery()');
    const isStandby = await withTimeout(address.connectTimeout, first, NO_TURN);
    if (mustWrite && isStandby === 't')
      throw new StoreError(`The database at ${name} is a standby, which cannot be written.`);
    const isEmpty = (await firstValue(client, "SELECT to_regclass('vitrine')")) === null;
    if (isEmpty) await refuseUnusable(name, (text) => queryRows(client, text));
    const generation = isEmpty
      ? -1
      : Number((await firstValue(client, 'SELECT generation FROM vitrine')) ?? -1);
    return { client, name, generation };
  });
}
