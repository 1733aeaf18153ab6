// The writing side of PostgreSQL: imports, removals and repairs, each one transaction on the primary.
import type pg from 'pg';
import type { Load, LoadOptions, LoadOutcome, Tallies } from '../load.ts';
import { WORK_TABLES } from '../merge-statements.ts';
import type { MigrationResult } from '../migrations.ts';
import type { SqlAdapter } from '../sql-adapter.ts';
import type { Writer } from '../writer.ts';
import { createWriter, importStaged } from '../writer.ts';
import { closeIfFailed, type HostConnection, openPrimary } from './connect.ts';
import { inTransaction, sqlAdapter } from './dialect.ts';
import { describeErrors } from './errors.ts';
import { migrate, readSchema, refuseUnfit } from './migrate.ts';
import { packAnswers } from './pack.ts';
import { type Stage, startStage } from './stage.ts';

export async function openWriter(url: string): Promise<Writer> {
  const connection = await openPrimary(url);
  await closeIfFailed(connection, ({ client, name }) => migrate(client, name));
  return writerOn(connection);
}

/** Makes the tables or brings them to the current schema; many nodes may do so at once. */
export async function migrateDatabase(url: string): Promise<MigrationResult> {
  const { client, name } = await openPrimary(url);
  return await migrate(client, name).finally(() => client.end());
}

/** For loads that are tried only: makes and migrates nothing. Undefined when there are no tables yet. */
export async function openTrialWriter(url: string): Promise<Writer | undefined> {
  const connection = await openPrimary(url);
  const hasTables = await closeIfFailed(connection, async ({ client, name }) => {
    const schema = await readSchema(client);
    if (schema > 0) refuseUnfit(`The database at ${name}`, schema);
    return schema > 0;
  });
  if (hasTables) return writerOn(connection);
  await connection.client.end();
  return undefined;
}

function writerOn(connection: HostConnection): Writer {
  const { client, name } = connection;
  const change = <T>(action: (db: SqlAdapter) => Promise<T>) =>
    describeErrors(name, () =>
      inTransaction(client, BEGIN, async () => {
        await takeTurn(client);
        const result = await action(sqlAdapter(client));
        await packAnswers(client);
        return result;
      }),
    );
  return createWriter({
    load: (options) => describeErrors(name, () => startLoad(connection, options)),
    connection: sqlAdapter(client),
    change,
    close: () => client.end(),
  });
}

// For the transaction only: through a pooler, others get the same connection later. Another import is waited for a minute.
const BEGIN =
  "BEGIN; SET LOCAL lock_timeout = '1min'; SET LOCAL work_mem = '64MB'; SET LOCAL maintenance_work_mem = '64MB'";

const WORK = Object.entries(WORK_TABLES)
  .map(([name, columns]) => `CREATE TEMP TABLE ${name} (${columns}) ON COMMIT DROP`)
  .join(';');

/** Writers take turns; readers are never held up. */
async function takeTurn(client: pg.Client): Promise<void> {
  await client.query('SELECT FROM vitrine FOR UPDATE');
  await client.query(WORK);
}

async function startLoad({ client, name }: HostConnection, options: LoadOptions): Promise<Load> {
  await client.query(BEGIN);
  const stage = await startStage(client);
  return {
    add(row, place) {
      const full = stage.add(row, place);
      return full === undefined ? undefined : describeErrors(name, () => full);
    },
    finish: (ending = 'commit') => describeErrors(name, () => finish(client, stage, options, ending)),
    async abandon() {
      // Closes the connection if its transaction cannot be ended.
      await client.query('ROLLBACK').catch(() => client.connection.stream.destroy());
    },
  };
}

/** After this number of changes the planner needs new statistics at once, not when autovacuum gets to it. */
const WORTH_ANALYSING = 1000;

async function finish(
  client: pg.Client,
  stage: Stage,
  options: LoadOptions,
  ending: LoadOutcome,
): Promise<Tallies | undefined> {
  await stage.end();
  await takeTurn(client);
  const { tallies, changes, commits } = await importStaged(sqlAdapter(client), options, ending);
  if (commits) await packAnswers(client);
  if (changes > WORTH_ANALYSING) await client.query('ANALYZE profiles, items, lists, words');
  await client.query(commits ? 'COMMIT' : 'ROLLBACK');
  return tallies;
}
