// The schema of a PostgreSQL database: whether this program can use it, and bringing it up to date.

import type pg from 'pg';
import { KINDS, type KindName } from '../../records/kinds.ts';
import { StoreError } from '../errors.ts';
import { deriveEverything } from '../sql/derive.ts';
import { tableName } from '../sql/media-statements.ts';
import { WORK_TABLES } from '../sql/merge-statements.ts';
import { listMigrations, type MigrationResult } from '../sql/migrations.ts';
import {
  completeRecord,
  isShapeDue,
  NEW_GENERATION,
  refuseNewerShape,
  refuseOtherShape,
  reshape,
  SHAPE,
} from '../sql/shape.ts';
import type { TextRow } from '../sql/sql-adapter.ts';
import { findWrongWords } from '../sql/word-statements.ts';
import { noStep, type StepListener } from '../steps.ts';
import { FOR_COMMANDS, firstValue, inTransaction, packLists, sqlAdapter } from './dialect.ts';
import { describeErrors } from './errors.ts';

/** 'VITR': the lock that a migration holds, so that many nodes may start at once. */
const LOCK = 0x56495452;

const MIGRATIONS = listMigrations('postgres');
export const { refuseUnfit } = MIGRATIONS;

/** Throws unless the fields and the lists are those of this program. `query` returns the rows of a query. */
export async function refuseOtherContents(
  database: string,
  query: (text: string) => Promise<TextRow[]>,
): Promise<void> {
  const [[shape = null] = []] = await query(SHAPE);
  if (shape !== null) refuseOtherShape(database, shape);
}

/** Makes the tables, or brings them to the current schema, in one transaction. */
export const migrate = (client: pg.Client, name: string, onStep = noStep): Promise<MigrationResult> =>
  describeErrors(name, () =>
    inTransaction(client, `BEGIN; ${FOR_COMMANDS}`, () => migrateLocked(client, name, onStep)),
  );

async function migrateLocked(
  client: pg.Client,
  name: string,
  onStep: StepListener,
): Promise<MigrationResult> {
  if ((await firstValue(client, 'SHOW server_encoding')) !== 'UTF8')
    throw new StoreError(`The database at ${name} must be made with ENCODING 'UTF8'.`);
  await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
  const from = await readSchema(client);
  MIGRATIONS.refuseUnknown(`The database at ${name}`, from);
  if (from === MIGRATIONS.current) refuseNewerShape(`The database at ${name}`, await readShape(client));
  if (from === 0)
    await client.query(`${MIGRATIONS.schema()}; UPDATE vitrine SET schema = ${MIGRATIONS.current}`);
  else await migrateTables(client, from, onStep);
  const hasOtherShape = isShapeDue(await readShape(client));
  if ((from > 0 && from < MIGRATIONS.current) || hasOtherShape)
    await deriveAgain(client, hasOtherShape, onStep);
  return { from, to: MIGRATIONS.current };
}

async function migrateTables(client: pg.Client, from: number, onStep: StepListener): Promise<void> {
  for (const { version, sql } of MIGRATIONS.due(from)) {
    onStep(`migration ${version}`);
    await client.query(sql());
    if (version === 9) await packLists(client);
    if (version === 10) await setWords(client);
    await client.query('UPDATE vitrine SET schema = $1', [version]);
  }
}

// Each database has one row in `vitrine`.
const readShape = async (client: pg.Client) => (await firstValue(client, SHAPE)) as string;

/** The records come first, then all that follows from them. */
async function deriveAgain(client: pg.Client, hasOtherShape: boolean, onStep: StepListener): Promise<void> {
  onStep('what follows from the records');
  // Imports wait.
  await client.query('SELECT FROM vitrine FOR UPDATE');
  const sql = sqlAdapter(client);
  const steps = reshape(sql, await readShape(client), {
    complete: (kind, before) => completeRecords(client, kind, before),
    // Roles that may read the view may still do so.
    replaceView: (view, query) => client.query(`CREATE OR REPLACE VIEW ${view} AS ${query}`),
  });
  for (const step of steps) await step;
  for (const [name, columns] of Object.entries(WORK_TABLES))
    await client.query(`CREATE TEMP TABLE ${name} (${columns}) ON COMMIT DROP`);
  await deriveEverything(sql);
  // Caches purge everything.
  if (hasOtherShape) await client.query(NEW_GENERATION);
}

const RECORDS_AT_ONCE = 500;

async function completeRecords(client: pg.Client, kind: KindName, before: readonly string[]): Promise<void> {
  const [table, { family }] = [tableName(kind), KINDS[kind]];
  const update = `UPDATE ${table} SET record = made.record
    FROM unnest($1::bigint[], $2::text[]) AS made (id, record) WHERE family = '${family}' AND ${table}.id = made.id`;
  const find = `SELECT id, record FROM ${table} WHERE family = '${family}' AND id > $1 ORDER BY id LIMIT ${RECORDS_AT_ONCE}`;
  for (let last: string | undefined = '0'; last !== undefined; ) {
    const found: { rows: { id: string; record: string }[] } = await client.query(find, [last]);
    const records = found.rows.map(({ record }) => completeRecord(record, kind, before));
    await client.query(update, [found.rows.map(({ id }) => id), records]);
    last = found.rows.at(-1)?.id;
  }
}

const WORDS_AT_ONCE = 1000;
const SET_WORDS = `
  UPDATE profiles SET words = found.words FROM json_to_recordset($1) AS found (family text, id bigint, words text)
  WHERE profiles.family = found.family AND profiles.id = found.id`;

/** What users are found by. */
async function setWords(client: pg.Client): Promise<void> {
  let found: object[] = [];
  const store = async () => void (await client.query(SET_WORDS, [JSON.stringify(found)]));
  for await (const { family, id, words } of findWrongWords(sqlAdapter(client))) {
    if (found.push({ family, id, words }) < WORDS_AT_ONCE) continue;
    await store();
    found = [];
  }
  await store();
}

/** 0 when there are no tables yet. */
export async function readSchema(client: pg.Client): Promise<number> {
  if ((await firstValue(client, "SELECT to_regclass('vitrine')")) === null) return 0;
  return Number(await firstValue(client, 'SELECT schema FROM vitrine'));
}
