// The writing side of PostgreSQL: imports, removals and repairs, each one transaction on the primary.
import { type ChangeOptions, createWriter } from '../create-writer.ts';
import { type MergeConnection, merge } from '../merge.ts';
import { packAnswers } from '../packed-rows.ts';
import type { Load, LoadOptions, LoadOutcome, Tallies, Writer } from '../writer.ts';
import { type Client, destroy, firstValue, type HostConnection, mergeConnection } from './connect.ts';
import { openPrimary } from './database.ts';
import { describeErrors, toStoreError } from './errors.ts';
import { CHANNEL } from './host.ts';
import { MISSING_TABLES, migrate, refuseMissing, refuseUnfit, schemaOf } from './migrate.ts';
import { createWorkTables, type Stage, startStage } from './stage.ts';

export async function openWriter(url: string): Promise<Writer> {
  const connection = await openPrimary(url);
  await migrate(connection).catch(async (error) => {
    await connection.client.end();
    throw error;
  });
  return writerOn(connection);
}

/** For loads that are tried only: makes and migrates nothing. Undefined when there are no tables yet. */
export async function openTrialWriter(url: string): Promise<Writer | undefined> {
  const connection = await openPrimary(url);
  const { client, name } = connection;
  try {
    const schema = await schemaOf(client, name);
    if (schema > 0) {
      refuseUnfit(name, schema);
      refuseMissing(name, await firstValue(client, `SELECT ${MISSING_TABLES}`));
      return writerOn(connection);
    }
  } catch (error) {
    await client.end();
    throw toStoreError(name, error);
  }
  await client.end();
  return undefined;
}

function writerOn(connection: HostConnection): Writer {
  const { client, name } = connection;
  return createWriter({
    load: (options) => describeErrors(name, () => startLoad(connection, options)),
    change: (action, options) =>
      describeErrors(name, () => inTransaction(client, () => changeLocked(client, action, options))),
    close: () => client.end(),
  });
}

// For the transaction only: through a pooler, others get the same connection later. Another import is waited for a minute.
const SETTINGS =
  "SET LOCAL lock_timeout = '1min'; SET LOCAL work_mem = '64MB'; SET LOCAL maintenance_work_mem = '64MB'";

async function inTransaction<T>(client: Client, action: () => Promise<T>): Promise<T> {
  await client.query(`BEGIN; ${SETTINGS}`);
  try {
    const result = await action();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function startLoad({ client, name }: HostConnection, options: LoadOptions): Promise<Load> {
  await client.query(`BEGIN; ${SETTINGS}`);
  const stage = await startStage(client);
  return {
    add(row, place) {
      const full = stage.add(row, place);
      return full === undefined ? undefined : describeErrors(name, () => full);
    },
    finish: (ending = 'commit') => describeErrors(name, () => finish(client, stage, options, ending)),
    async abandon() {
      await stage.abandon();
      await client.query('ROLLBACK').catch(() => destroy(client));
    },
  };
}

async function finish(
  client: Client,
  stage: Stage,
  options: LoadOptions,
  ending: LoadOutcome,
): Promise<Tallies | undefined> {
  await stage.end();
  const generation = await lock(client);
  await createWorkTables(client);
  const tallies = await merge(mergeConnection(client), options, ending);
  if (tallies === undefined || ending !== 'commit') {
    await client.query('ROLLBACK');
    return tallies;
  }
  const changes = Object.values(tallies).reduce(
    (sum, tally) => sum + tally.new + tally.changed + tally.removed,
    0,
  );
  await packAnswers(mergeConnection(client));
  if (changes > WORTH_ANALYSING) await client.query('ANALYZE profiles, items, lists');
  // The first import counts even when it was empty: with it the database is ready to be served.
  if (changes > 0 || generation === '0') await advance(client);
  await client.query(`UPDATE vitrine SET last_run = ${NOW}`);
  await client.query('COMMIT');
  return tallies;
}

/** In microseconds since 1970. */
const NOW = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';

/** After so many changes the planner needs new statistics at once, not when autovacuum gets to it. */
const WORTH_ANALYSING = 1000;

/** Writers take turns; readers are never held up. Gives the generation. */
const lock = (client: Client) => firstValue(client, 'SELECT generation FROM vitrine FOR UPDATE');

/**
 * A new generation, announced to whoever listens. It is the time, so that what is imported after a standby was promoted
 * is newer than what the lost primary had last, wherever that had come to.
 */
async function advance(client: Client): Promise<void> {
  await client.query(`UPDATE vitrine SET generation = greatest(generation + 1, ${NOW})`);
  await client.query(`NOTIFY ${CHANNEL}`);
}

/** A change in its turn. Only an import makes a new database ready to be served. */
async function changeLocked<T>(
  client: Client,
  action: (merging: MergeConnection) => Promise<T>,
  { changesAnswers = () => true }: ChangeOptions<T> = {},
): Promise<T> {
  const generation = await lock(client);
  await createWorkTables(client);
  const result = await action(mergeConnection(client));
  if (changesAnswers(result) && generation !== '0') await advance(client);
  return result;
}
