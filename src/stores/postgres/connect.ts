// Connections to PostgreSQL, and for commands: which of the hosts of a URL to connect to.
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { type HostAddress, type PostgresAddress, parsePostgresUrl } from '../../config/database-url.ts';
import { StoreError } from '../errors.ts';
import { firstValue } from './dialect.ts';
import { toStoreError } from './errors.ts';
import { MISSING_TABLES, refuseMissing, refuseUnfit } from './migrate.ts';

/** A connection to one of the hosts of the URL. */
export interface HostConnection {
  readonly client: pg.Client;
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

function tlsOptions({ sslmode, sslrootcert }: PostgresAddress): pg.ClientConfig['ssl'] {
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

/** Connects to the host that can be written; of two, should an old primary still run, to the one with the newest data. */
export async function openPrimary(url: string): Promise<HostConnection> {
  const { candidates, faults } = await connectAll(url);
  const chosen = await keepNewest(candidates, ({ isStandby }) => !isStandby);
  if (chosen !== undefined) return chosen;
  const standbys = candidates.map(
    ({ name }) => `The database at ${name} is a standby, which cannot be written.`,
  );
  throw new StoreError([...faults, ...standbys].join(' '));
}

/** Reads from the host with the newest data, standby or not: all of it as of one moment. */
export async function openSnapshot(url: string): Promise<HostConnection> {
  const { candidates, faults } = await connectAll(url);
  const chosen = await keepNewest(candidates);
  if (chosen === undefined) throw new StoreError(faults.join(' '));
  await closeIfFailed(chosen, async ({ client, name }) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    refuseUnfit(name, Number(await firstValue(client, 'SELECT schema FROM vitrine')));
    refuseMissing(name, await firstValue(client, `SELECT ${MISSING_TABLES}`));
  });
  return chosen;
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

interface Candidate extends HostConnection {
  readonly isStandby: boolean;
  readonly generation: number;
}

async function connectAll(url: string) {
  const address = parsePostgresUrl(url);
  const candidates: Candidate[] = [];
  const faults: string[] = [];
  const connectHost = async (where: HostAddress) => {
    try {
      candidates.push(await connect(address, where));
    } catch (error) {
      faults.push(toStoreError(hostName(where), error).message);
    }
  };
  await Promise.all(address.hosts.map(connectHost));
  return { candidates, faults };
}

async function connect(address: PostgresAddress, where: HostAddress): Promise<Candidate> {
  const client = new pg.Client(clientConfig(address, where));
  // Queries report that the connection broke; while it is idle that must not crash the process.
  client.on('error', () => {});
  return await closeIfFailed({ client, name: hostName(where) }, async (connection) => {
    await client.connect();
    const isStandby = (await firstValue(client, 'SELECT pg_is_in_recovery()')) === 't';
    const isEmpty = (await firstValue(client, "SELECT to_regclass('vitrine')")) === null;
    const generation = isEmpty ? -1 : Number(await firstValue(client, 'SELECT generation FROM vitrine'));
    return { ...connection, isStandby, generation };
  });
}

/** The one with the newest data; closes the others. */
async function keepNewest(candidates: readonly Candidate[], isFit = (_: Candidate) => true) {
  const [newest] = candidates.filter(isFit).toSorted((a, b) => b.generation - a.generation);
  await Promise.all(candidates.filter((other) => other !== newest).map(({ client }) => client.end()));
  return newest;
}
