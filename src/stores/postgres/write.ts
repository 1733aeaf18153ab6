// The writing side of PostgreSQL: imports, removals and repairs, each one transaction on the primary.

import type pg from 'pg';
import type { Row } from '../../records/normalise.ts';
import type { Load, LoadOptions, LoadOutcome, Tallies } from '../sql/load.ts';
import { stagedKind, WORK_TABLES } from '../sql/merge-statements.ts';
import type { MigrationResult } from '../sql/migrations.ts';
import type { SqlAdapter, TextRow } from '../sql/sql-adapter.ts';
import { noStep, type StepListener } from '../steps.ts';
import { createWriter, importStaged, type Writer } from '../writer.ts';
import { closeIfFailed, type HostConnection, openPrimary } from './connect.ts';
import { FOR_COMMANDS, firstValue, inTransaction, queryRows, sqlAdapter } from './dialect.ts';
import { describeErrors } from './errors.ts';
import { joinValues, numbersArray } from './long-values.ts';
import { migrate, readSchema, refuseOtherContents, refuseUnfit } from './migrate.ts';

export async function openWriter(url: string, onStep?: StepListener): Promise<Writer> {
  const connection = await openPrimary(url);
  await closeIfFailed(connection, ({ client, name }) => migrate(client, name, onStep));
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
    if (schema === 0) return false;
    refuseUnfit(`The database at ${name}`, schema);
    await refuseOtherContents(`The database at ${name}`, (text) => queryRows(client, text));
    return true;
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
        return await action(sqlAdapter(client));
      }),
    );
  return createWriter({
    load: (options) => describeErrors(name, () => startLoad(connection, options)),
    adapter: { ...sqlAdapter(client), rows: (sql) => readRows(client, sql) },
    change,
    close: () => client.end(),
  });
}

/** Outside of transactions there are no cursors. */
async function* readRows<Row extends TextRow>(client: pg.Client, sql: string): AsyncGenerator<Row> {
  yield* await queryRows<Row>(client, sql);
}

// For the transaction only: through a pooler, others get the same connection later. Another import is waited for a minute.
const BEGIN = `BEGIN; ${FOR_COMMANDS}; SET LOCAL lock_timeout = '1min'; SET LOCAL work_mem = '64MB'; SET LOCAL maintenance_work_mem = '64MB'`;

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
      await stage.settled();
      // Closes the connection if its transaction cannot be ended.
      await client.query('ROLLBACK').catch(() => client.connection.stream.destroy());
    },
  };
}

/** Whether there is no data yet for servers, which the change locks out. Only the owner of a table may change its indexes. */
const IS_FIRST = `
  SELECT generation = 0 AND pg_has_role(relowner, 'USAGE') AND NOT EXISTS (SELECT FROM items)
  FROM vitrine CROSS JOIN pg_class WHERE oid = 'items'::regclass`;

// A first import builds the index of ids at its end: filling it in the items' order reads and writes its pages many times.
// Imports that were refused or killed have left rows in the table that no query sees.
const BEGIN_FIRST = 'TRUNCATE items; ALTER TABLE items DROP CONSTRAINT items_pkey';

async function finish(
  client: pg.Client,
  stage: Stage,
  options: LoadOptions,
  ending: LoadOutcome,
): Promise<Tallies | undefined> {
  const { onStep = noStep } = options;
  onStep('waiting for other imports');
  await stage.end();
  await lockWriters(client);
  const isFirst = (await firstValue(client, IS_FIRST)) === 't';
  if (isFirst) await client.query(BEGIN_FIRST);
  const db = sqlAdapter(client);
  const { tallies, changes, commits } = await importStaged(db, options, ending);
  if (isFirst && commits) {
    onStep('index of ids');
    await client.query('ALTER TABLE items ADD PRIMARY KEY (family, id)');
  }
  onStep('statistics');
  await db.countForPlanner('items, lists, words', changes);
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
  INSERT INTO staged (kind, place, id, user_key, words, owner, date, record)
  SELECT kind, place, id, user_key, words, owner, date, convert_from(substr($1::bytea, start, length), 'UTF8')
  FROM unnest($2::integer[], $3::integer[], $4::integer[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::bigint[], $10::text[])
  AS rows (start, length, kind, place, id, user_key, words, owner, date)`;
/** Characters of records that are gathered before they are sent. */
const CHUNK = 256 * 1024;

type Stage = Awaited<ReturnType<typeof startStage>>;

/** Inside the caller's transaction. */
async function startStage(client: pg.Client) {
  await client.query(STAGED);
  let rows: StagedRow[] = [];
  let size = 0;
  let sending: Promise<unknown> = Promise.resolve();

  /** Sends what was gathered; resolves when what was sent before is stored. */
  async function flush(): Promise<void> {
    const before = sending;
    const values = columnsOf(rows);
    rows = [];
    size = 0;
    sending = client.query(STAGE, values);
    // It is thrown by the next call.
    sending.catch(() => {});
    await before;
  }

  return {
    add(row: Row, place: number): Promise<void> | undefined {
      rows.push({ row, place });
      size += row.record.length;
      return size < CHUNK ? undefined : flush();
    },
    /** Resolves when nothing is being sent, whether it was stored or not. */
    settled: () => sending.catch(() => {}),
    /** All rows are in the table, or it fails as the first did that could not be stored. */
    async end(): Promise<void> {
      await flush();
      await sending;
    },
  };
}

interface StagedRow {
  readonly row: Row;
  readonly place: number;
}

/** The values of STAGE. */
function columnsOf(rows: readonly StagedRow[]): unknown[] {
  const { bytes, starts, lengths } = joinValues(rows.map(({ row }) => row.record));
  return [
    bytes,
    starts,
    lengths,
    numbersArray(rows.map(({ row }) => stagedKind(row.kind))),
    numbersArray(rows.map(({ place }) => place)),
    numbersArray(rows.map(({ row }) => row.id)),
    rows.map(({ row }) => row.userKey),
    rows.map(({ row }) => row.words),
    numbersArray(rows.map(({ row }) => row.owner || 'NULL')),
    rows.map(({ row }) => row.date),
  ];
}
