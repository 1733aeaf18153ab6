// The schema of a PostgreSQL database: whether this program can use it, and bringing it up to date.

import type pg from 'pg';
import { StoreError } from '../errors.ts';
import {
  completeRecords,
  findLackingFields,
  refuseLackingFields,
  refuseUnknownFields,
  selectView,
  VIEWS,
} from '../sql/fields.ts';
import {
  ADD_NAME,
  findLacking,
  type LackingName,
  NEW_GENERATION,
  refuseLacking,
  renameBody,
  STORED_NAMES,
} from '../sql/list-names.ts';
import { HAS_COPIES } from '../sql/media-statements.ts';
import { WORK_TABLES } from '../sql/merge-statements.ts';
import { listMigrations, type MigrationResult } from '../sql/migrations.ts';
import { countRows, type TextRow } from '../sql/sql-adapter.ts';
import { findWrongWords } from '../sql/word-statements.ts';
import { noStep, type StepListener, UNKNOWN_SIZE } from '../steps.ts';
import {
  FOR_COMMANDS,
  firstValue,
  inTransaction,
  packLists,
  packProfiles,
  queryRows,
  sqlAdapter,
} from './dialect.ts';
import { describeErrors } from './errors.ts';
import { insertLists, type List } from './lists.ts';

/** 'VITR': the lock that a migration holds, so that many nodes may start at once. */
const LOCK = 0x56495452;

const MIGRATIONS = listMigrations('postgres');
export const { refuseUnfit } = MIGRATIONS;

const FIELDS = `
  SELECT relname || ' ' || attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
  WHERE attrelid IN (${VIEWS.map((view) => `to_regclass('${view}')`)}) AND attnum > 0 ORDER BY attrelid, attnum`;

/** Throws unless the lists and the records are those of this program. `query` returns the rows of a query. */
export async function refuseOtherContents(
  database: string,
  query: (text: string) => Promise<TextRow[]>,
): Promise<void> {
  const fields = (await query(FIELDS)).map(String);
  refuseUnknownFields(database, fields);
  refuseLacking(database, (await query(STORED_NAMES)).map(String));
  refuseLackingFields(database, fields);
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
  refuseUnknownFields(`The database at ${name}`, await readFields(client));
  for (const { version, sql } of MIGRATIONS.due(from)) {
    onStep(`migration ${version}`, UNKNOWN_SIZE);
    await client.query(sql());
    if (version === 9) {
      await packProfiles(client);
      await packLists(client);
    }
    if (version === 10) await setWords(client);
    await client.query('UPDATE vitrine SET schema = $1', [version]);
  }
  await addLists(client, onStep);
  await addFields(client, onStep);
  return { from, to: MIGRATIONS.current };
}

const LISTS_AT_ONCE = 100;

/** Makes the lists of variants that this program has and the one before had not. */
async function addLists(client: pg.Client, onStep: StepListener): Promise<void> {
  const db = sqlAdapter(client);
  const stored = await Array.fromAsync(db.rows<[string]>(STORED_NAMES));
  const lacking = findLacking(stored.map(([name]) => name));
  for (const one of lacking) {
    onStep(`lists called ${one.name}`, UNKNOWN_SIZE);
    await copyLists(client, one);
    await db.run(ADD_NAME, [one.family, one.name]);
  }
  if (lacking.length > 0) await client.query(NEW_GENERATION);
}

const readFields = async (client: pg.Client) => (await queryRows(client, FIELDS)).map(String);

/** Gives records and lists the fields that this program has and the one before had not. */
async function addFields(client: pg.Client, onStep: StepListener): Promise<void> {
  const found = findLackingFields(await readFields(client));
  if (found.length === 0) return;
  onStep('new fields', UNKNOWN_SIZE);
  // Imports wait.
  await client.query('SELECT FROM vitrine FOR UPDATE');
  const sql = sqlAdapter(client);
  const hasCopies = (await countRows(sql, HAS_COPIES)) > 0;
  await client.query(`CREATE TEMP TABLE touched (${WORK_TABLES.touched}) ON COMMIT DROP`);
  for (const lacking of found) {
    for (const step of completeRecords(lacking, hasCopies, sql)) await step;
    // Roles that may read the view may still do so.
    await client.query(`CREATE OR REPLACE VIEW ${lacking.view} AS ${selectView(lacking, sql.member)}`);
  }
  await packProfiles(client);
  await client.query(NEW_GENERATION);
}

/** Fills lists with those that the family has under another name. */
async function copyLists(client: pg.Client, { family, name, source }: LackingName): Promise<void> {
  const { hex, rows } = sqlAdapter(client);
  let lists: List[] = [];
  const stored = rows<[string, string, string, string]>(`
    SELECT user_key, CAST(owner AS text), etag, ${hex('body')} FROM lists
    WHERE family = '${family}' AND collection = '${source}'`);
  for await (const [userKey, owner, etag, body] of stored) {
    const list = { userKey, owner, name, etag, body: renameBody(Buffer.from(body, 'hex'), name) };
    if (lists.push(list) < LISTS_AT_ONCE) continue;
    await insertLists(client, family, lists);
    lists = [];
  }
  await insertLists(client, family, lists);
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
