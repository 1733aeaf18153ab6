// A PostgreSQL database: connecting to the right one of its hosts.
import { type HostAddress, type PostgresAddress, parsePostgresUrl } from '../../config/database-url.ts';
import { StoreError } from '../errors.ts';
import type { MigrationResult } from '../migrations.ts';
import { firstOf, nameOf, newClient, type Session } from './connect.ts';
import { MISSING_TABLES, migrate, refuseMissing, refuseUnfit } from './migrate.ts';
import { asStoreError, sentence } from './sentences.ts';

/** Connects to the host that can be written; of two, should an old primary still run, to the one with the newest data. */
export async function openPrimary(url: string): Promise<Session> {
  const { reached, reasons } = await reachAll(parsePostgresUrl(url));
  const chosen = newest(reached.filter(({ standby }) => !standby));
  await closeAll(reached, chosen);
  if (chosen !== undefined) return chosen;
  const standbys = reached.map(
    ({ name }) => `The database at ${name} is a standby, which cannot be written.`,
  );
  throw new StoreError([...reasons, ...standbys].join(' '));
}

/** Reads from the host with the newest data, standby or not: all of it as of one moment. */
export async function openSnapshot(url: string): Promise<Session> {
  const { reached, reasons } = await reachAll(parsePostgresUrl(url));
  const chosen = newest(reached);
  await closeAll(reached, chosen);
  if (chosen === undefined) throw new StoreError(reasons.join(' '));
  const { client, name } = chosen;
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    refuseUnfit(name, Number(await firstOf(client, 'SELECT schema FROM vitrine')));
    refuseMissing(name, await firstOf(client, `SELECT ${MISSING_TABLES}`));
    return chosen;
  } catch (error) {
    await client.end();
    throw asStoreError(name, error);
  }
}

interface Reached extends Session {
  readonly standby: boolean;
  readonly generation: number;
}

async function reachAll(address: PostgresAddress) {
  const reached: Reached[] = [];
  const reasons: string[] = [];
  await Promise.all(
    address.hosts.map(async (where) => {
      try {
        reached.push(await reach(address, where));
      } catch (error) {
        reasons.push(sentence(nameOf(where), error));
      }
    }),
  );
  return { reached, reasons };
}

async function reach(address: PostgresAddress, where: HostAddress): Promise<Reached> {
  const client = newClient(address, where);
  try {
    await client.connect();
    const standby = (await firstOf(client, 'SELECT pg_is_in_recovery()')) === 't';
    const isEmpty = (await firstOf(client, "SELECT to_regclass('vitrine')")) === null;
    const generation = isEmpty ? -1 : Number(await firstOf(client, 'SELECT generation FROM vitrine'));
    return { client, name: nameOf(where), standby, generation };
  } catch (error) {
    await client.end();
    throw error;
  }
}

const newest = (reached: readonly Reached[]) => reached.toSorted((a, b) => b.generation - a.generation)[0];

const closeAll = (reached: readonly Reached[], but: Reached | undefined) =>
  Promise.all(reached.filter((one) => one !== but).map(({ client }) => client.end()));

/** Makes the tables or brings them to the current schema; many nodes may do so at once. */
export async function migrateDatabase(url: string): Promise<MigrationResult> {
  const session = await openPrimary(url);
  try {
    return await migrate(session);
  } finally {
    await session.client.end();
  }
}
