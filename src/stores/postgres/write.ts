// The writing side of PostgreSQL: imports, removals and repairs, each one transaction on the primary.

import type pg from 'pg';
import type { Row } from '../../records/normalise.ts';
import type { Load, LoadOptions, LoadOutcome, Tallies } from '../sql/load.ts';
import { STAGED_COLUMNS, stagedKind, WORK_TABLES } from '../sql/merge-statements.ts';
import type { MigrationResult } from '../sql/migrations.ts';
import type { SqlAdapter, TextRow } from '../sql/sql-adapter.ts';
import { noStep, type StepListener } from '../steps.ts';
import { createWriter, importStaged, type Writer } from '../writer.ts';
import { closeIfFailed, type HostConnection, openPrimary } from './connect.ts';
import { inTransaction, packAnswers, sqlAdapter } from './dialect.ts';
import { describeErrors } from './errors.ts';
import { migrate, readSchema, refuseUnfit } from './migrate.ts';

export async function openWriter(url: string): Promise<Writer> {
  const connection = await openPrimary(url);
  await closeIfFailed(connection, ({ client, name }) => migrate(client, name));
  return writerOn(connection);
}

/** Makes the tables or brings them to the current schema; many nodes may do so at once. */
export async function migrateDatabase(url: string, onStep: StepListener): Promise<MigrationResult> {
  const { client, name } = await openPrimary(url);
  return await migrate(client, name, onStep).finally(() => client.end());
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
        await lockWriters(client);
        const result = await action(sqlAdapter(client));
        await packAnswers(client);
        return result;
      }),
    );
  return createWriter({
    load: (options) => describeErrors(name, () => startLoad(connection, options)),
    adapter: { ...sqlAdapter(client), rows: (sql) => readRows(client, sql) },
    change,
    close: () => client.end(),
  });
}

/** The few rows of a query outside of transactions, where there are no cursors. */
async function* readRows<Row extends TextRow>(client: pg.Client, sql: string): AsyncGenerator<Row> {
  yield* (await client.query<Row>({ text: sql, rowMode: 'array' })).rows;
}

// For the transaction only: through a pooler, others get the same connection later. Another import is waited for a minute.
const BEGIN =
  "BEGIN; SET LOCAL lock_timeout = '1min'; SET LOCAL work_mem = '64MB'; SET LOCAL maintenance_work_mem = '64MB'";

const WORK = Object.entries(WORK_TABLES)
  .map(([name, columns]) => `CREATE TEMP TABLE ${name} (${columns}) ON COMMIT DROP`)
  .join(';');

/** One writer at a time; readers are never held up. */
async function lockWriters(client: pg.Client): Promise<void> {
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
  options.onStep?.('waiting for other imports');
  await stage.end();
  await lockWriters(client);
  const { tallies, changes, commits } = await importStaged(sqlAdapter(client), options, ending);
  const { onStep = noStep } = options;
  onStep('compressing');
  if (commits) await packAnswers(client);
  onStep('statistics');
  if (changes > WORTH_ANALYSING) await client.query('ANALYZE profiles, items, lists, words');
  onStep(commits ? 'to the disk' : 'undoing the trial');
  await client.query(commits ? 'COMMIT' : 'ROLLBACK');
  return tallies;
}

// The rows of an import on their way into PostgreSQL: a temporary table, filled by many rows at once.

const STAGED = `
  CREATE TEMP TABLE staged (
    n bigint GENERATED ALWAYS AS IDENTITY, kind integer NOT NULL, place bigint NOT NULL, id bigint NOT NULL,
    user_key text COLLATE "C" NOT NULL, words text NOT NULL, owner bigint, date text COLLATE "C" NOT NULL, record text NOT NULL
  ) ON COMMIT DROP`;
const STAGE = `
  INSERT INTO staged (${STAGED_COLUMNS.join()}) SELECT ${STAGED_COLUMNS.join()} FROM json_to_recordset($1)
  AS rows (kind integer, place bigint, id bigint, user_key text, words text, owner bigint, date text, record text)`;
/** Characters of records that are gathered before they are sent. */
const CHUNK = 256 * 1024;

type Stage = Awaited<ReturnType<typeof startStage>>;

/** Inside the caller's transaction. */
async function startStage(client: pg.Client) {
  await client.query(STAGED);
  let rows: object[] = [];
  let size = 0;
  let sending: Promise<unknown> = Promise.resolve();

  /** Sends what was gathered; resolves when what was sent before is stored. */
  async function flush(): Promise<void> {
    const before = sending;
    const values = [JSON.stringify(rows)];
    rows = [];
    size = 0;
    sending = client.query(STAGE, values);
    // It is thrown by the next call.
    sending.catch(() => {});
    await before;
  }

  return {
    add({ kind, id, userKey, words, owner, date, record }: Row, place: number): Promise<void> | undefined {
      const keys = { user_key: userKey, words, owner: owner || null };
      rows.push({ kind: stagedKind(kind), place, id, ...keys, date, record });
      size += record.length;
      return size < CHUNK ? undefined : flush();
    },
    /** All rows are in the table, or it fails as the first did that could not be stored. */
    async end(): Promise<void> {
      await flush();
      await sending;
    },
  };
}
