// The schema of a PostgreSQL database: whether this program can use it, and bringing it up to date.

import type pg from 'pg';
import { KINDS, type KindName } from '../../records/kinds.ts';
import { StoreError } from '../errors.ts';
import { repairCounts } from '../sql/counts.ts';
import { deriveEverything } from '../sql/derive.ts';
import { tableName } from '../sql/media-statements.ts';
import { WORK_TABLES } from '../sql/merge-statements.ts';
import { type MigrationResult, schemaOf } from '../sql/migrations.ts';
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
import { FOR_COMMANDS, firstValue, inTransaction, queryRows, sqlAdapter } from './dialect.ts';
import { describeErrors } from './errors.ts';

/** 'VITR': the lock that a migration holds, so that many nodes may start at once. */
const LOCK = 0x56495452;

const SCHEMA = schemaOf('postgres');
export const { refuseUnfit } = SCHEMA;

/** Throws unless the fields and the lists are those of this program. `query` returns the rows of a query. */
export async function refuseOtherContents(
  database: string,
  query: (text: string) => Promise<TextRow[]>,
): Promise<void> {
  const [[shape = null] = []] = await query(SHAPE);
  if (shape !== null) refuseOtherShape(database, shape);
}

/** Throws if there are tables of ours that the role does not see, since it may not use their schema. */
export async function refuseUnusable(
  name: string,
  query: (text: string) => Promise<TextRow[]>,
): Promise<void> {
  const [[schema] = []] = await query(UNUSABLE);
  if (schema != null)
    throw new StoreError(
      `The database at ${name} does not let this role use the schema ${schema}: GRANT USAGE ON SCHEMA ${schema} TO it.`,
    );
}

const UNUSABLE = `
  SELECT relnamespace::regnamespace::text FROM pg_class
  WHERE relname = 'vitrine' AND relkind = 'r' AND NOT has_schema_privilege(relnamespace, 'USAGE')`;

/** Tables of another program where ours would go: not those that belong to an extension. */
const OTHER_TABLES = `
  SELECT relname FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
    AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
  ORDER BY relname LIMIT 4`;

const TABLES_SHOWN = 3;

/** Our tables are not mixed with those of another program. */
async function refuseOtherTables(client: pg.Client, name: string): Promise<void> {
  const found = (await queryRows(client, OTHER_TABLES)).map(([table]) => table);
  if (found.length === 0) return;
  const names = [...found.slice(0, TABLES_SHOWN), ...(found.length > TABLES_SHOWN ? ['…'] : [])].join(', ');
  throw new StoreError(
    `The database at ${name} has tables of another program (${names}): give Vitrine a database of its own, or a schema by the search_path of its role.`,
  );
}

const RESTORES = `
  SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pg_restore' LIMIT 1`;

/** What is written now, pg_restore would drop, or fail to make. */
async function refuseDuringRestore(client: pg.Client, name: string): Promise<void> {
  if ((await queryRows(client, RESTORES)).length > 0)
    throw new StoreError(
      `The database at ${name} is being restored by pg_restore: try again when that is done.`,
    );
}

/** Makes the tables, or brings them to the current schema, in one transaction. */
export const migrate = (client: pg.Client, name: string, onStep = noStep): Promise<MigrationResult> =>
  describeErrors(name, () =>
    inTransaction(client, `BEGIN; ${FOR_COMMANDS}`, () => migrateLocked(client, name, onStep)),
  );

async function migrateLocked(
  client: pg.Client,
  name: string,
  onOlder: StepListener,
): Promise<MigrationResult> {
  if ((await firstValue(client, 'SHOW server_encoding')) !== 'UTF8')
    throw new StoreError(`The database at ${name} must be made with ENCODING 'UTF8'.`);
  await refuseDuringRestore(client, name);
  await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
  const from = await readSchema(client);
  SCHEMA.refuseUnknown(`The database at ${name}`, from);
  if (from === SCHEMA.current) refuseNewerShape(`The database at ${name}`, await readShape(client));
  // New tables are made in a moment.
  const onStep = from === 0 ? noStep : onOlder;
  if (from === 0) await refuseOtherTables(client, name);
  if (from < SCHEMA.current) await bringTables(client, from, onStep);
  const hasOtherShape = isShapeDue(await readShape(client));
  if (from < SCHEMA.current || hasOtherShape) await reshapeRecords(client, onStep);
  if (from > 0 && (from < SCHEMA.current || hasOtherShape)) await deriveAgain(client, hasOtherShape, onStep);
  return { from, to: SCHEMA.current };
}

async function bringTables(client: pg.Client, from: number, onStep: StepListener): Promise<void> {
  onStep('tables');
  if (from > 0) await client.query(SCHEMA.read('older.sql'));
  await client.query(SCHEMA.read('schema.sql'));
  if (from > 0) await client.query(FILL);
  if (from > 0) await setWords(client);
  await client.query('UPDATE vitrine SET schema = $1', [SCHEMA.current]);
}

/** What the new columns and tables are filled with, beside words; all else is derived. */
const FILL = `
  INSERT INTO copies SELECT * FROM former_copies ON CONFLICT DO NOTHING;
  INSERT INTO takedown_marks (mark) SELECT etag_of(string_agg(hash, '' ORDER BY hash)) FROM takedowns
    HAVING count(*) > 0 AND NOT EXISTS (SELECT FROM takedown_marks);
  UPDATE vitrine SET last_run = greatest(last_run, generation);
  -- Their names had the whole address, which may be secret.
  DELETE FROM subscribers WHERE name ILIKE 'post:http%' AND name NOT LIKE '%…%'`;

// Each database has one row in `vitrine`.
const readShape = async (client: pg.Client) => (await firstValue(client, SHAPE)) as string;

async function reshapeRecords(client: pg.Client, onStep: StepListener): Promise<void> {
  onStep('records');
  // Imports wait.
  await client.query('SELECT FROM vitrine FOR UPDATE');
  const steps = reshape(sqlAdapter(client), await readShape(client), {
    complete: (kind, before) => completeRecords(client, kind, before),
    // Roles that may read the view may still do so.
    replaceView: (view, query) => client.query(`CREATE OR REPLACE VIEW ${view} AS ${query}`),
  });
  for (const step of steps) await step;
}

/** All that follows from the records. */
async function deriveAgain(client: pg.Client, hasOtherShape: boolean, onStep: StepListener): Promise<void> {
  for (const [name, columns] of Object.entries(WORK_TABLES))
    await client.query(`CREATE TEMP TABLE ${name} (${columns}) ON COMMIT DROP`);
  const sql = sqlAdapter(client);
  await deriveEverything(sql, { onStep });
  await repairCounts(sql);
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
