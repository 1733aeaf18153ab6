// A PostgreSQL database: connecting to the right one of its hosts.
import pg from 'pg';
import { type HostAddress, type PostgresAddress, parsePostgresUrl } from '../../config/database-url.ts';
import { StoreError } from '../errors.ts';
import type { MigrationResult } from '../migrations.ts';
import { type Client, clientConfig, firstValue, type HostConnection, hostName } from './connect.ts';
import { describeErrors, errorMessage, toStoreError } from './errors.ts';
import { MISSING_TABLES, migrate, refuseMissing, refuseUnfit } from './migrate.ts';

/** Connects to the host that can be written; of two, should an old primary still run, to the one with the newest data. */
export async function openPrimary(url: string): Promise<HostConnection> {
  const { candidates, faults } = await connectAll(parsePostgresUrl(url));
  const chosen = await keepNewest(candidates, ({ isStandby }) => !isStandby);
  if (chosen !== undefined) return chosen;
  const standbys = candidates.map(
    ({ name }) => `The database at ${name} is a standby, which cannot be written.`,
  );
  throw new StoreError([...faults, ...standbys].join(' '));
}

/** Reads from the host with the newest data, standby or not: all of it as of one moment. */
export async function openSnapshot(url: string): Promise<HostConnection> {
  const { candidates, faults } = await connectAll(parsePostgresUrl(url));
  const chosen = await keepNewest(candidates, () => true);
  if (chosen === undefined) throw new StoreError(faults.join(' '));
  const { client, name } = chosen;
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    refuseUnfit(name, Number(await firstValue(client, 'SELECT schema FROM vitrine')));
    refuseMissing(name, await firstValue(client, `SELECT ${MISSING_TABLES}`));
    return chosen;
  } catch (error) {
    await client.end();
    throw toStoreError(name, error);
  }
}

/** Reads once from the host with the newest data. */
export async function readSnapshot<T>(url: string, read: (client: Client) => Promise<T>): Promise<T> {
  const { client, name } = await openSnapshot(url);
  return await describeErrors(name, () => read(client)).finally(() => client.end());
}

interface Candidate extends HostConnection {
  readonly isStandby: boolean;
  readonly generation: number;
}

async function connectAll(address: PostgresAddress) {
  const candidates: Candidate[] = [];
  const faults: string[] = [];
  const connectHost = async (where: HostAddress) => {
    try {
      candidates.push(await connect(address, where));
    } catch (error) {
      faults.push(errorMessage(hostName(where), error));
    }
  };
  await Promise.all(address.hosts.map(connectHost));
  return { candidates, faults };
}

async function connect(address: PostgresAddress, where: HostAddress): Promise<Candidate> {
  const client = new pg.Client(clientConfig(address, where));
  // Queries report that the connection broke; while it is idle that must not crash the process.
  client.on('error', () => {});
  try {
    await client.connect();
    const isStandby = (await firstValue(client, 'SELECT pg_is_in_recovery()')) === 't';
    const isEmpty = (await firstValue(client, "SELECT to_regclass('vitrine')")) === null;
    const generation = isEmpty ? -1 : Number(await firstValue(client, 'SELECT generation FROM vitrine'));
    return { client, name: hostName(where), isStandby, generation };
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** The one with the newest data; closes the others. */
async function keepNewest(candidates: readonly Candidate[], isFit: (candidate: Candidate) => boolean) {
  const [newest] = candidates.filter(isFit).toSorted((a, b) => b.generation - a.generation);
  await Promise.all(candidates.filter((other) => other !== newest).map(({ client }) => client.end()));
  return newest;
}

/** Makes the tables or brings them to the current schema; many nodes may do so at once. */
export async function migrateDatabase(url: string): Promise<MigrationResult> {
  const connection = await openPrimary(url);
  try {
    return await migrate(connection);
  } finally {
    await connection.client.end();
  }
}
