// The schema of a PostgreSQL database: whether this program can use it, and bringing it up to date.

import type pg from 'pg';
import { StoreError } from '../errors.ts';
import { listMigrations, type MigrationResult } from '../sql/migrations.ts';
import { findWrongWords } from '../sql/word-statements.ts';
import { firstValue, inTransaction, packAnswers, sqlAdapter } from './dialect.ts';
import { describeErrors } from './errors.ts';

/** 'VITR': the lock that a migration holds, so that many nodes may start at once. */
const LOCK = 0x56495452;

const MIGRATIONS = listMigrations('postgres');
export const { refuseUnfit } = MIGRATIONS;

/** Makes the tables, or brings them to the current schema, in one transaction. */
export const migrate = (client: pg.Client, name: string): Promise<MigrationResult> =>
  describeErrors(name, () => inTransaction(client, 'BEGIN', () => migrateLocked(client, name)));

async function migrateLocked(client: pg.Client, name: string): Promise<MigrationResult> {
  if ((await firstValue(client, 'SHOW server_encoding')) !== 'UTF8')
    throw new StoreError(`The database at ${name} must be made with ENCODING 'UTF8'.`);
  await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
  const from = await readSchema(client);
  MIGRATIONS.refuseUnknown(`The database at ${name}`, from);
  for (const { version, sql } of MIGRATIONS.due(from)) {
    await client.query(sql());
    if (version === 9) await packAnswers(client);
    if (version === 10) await setWords(client);
    await client.query('UPDATE vitrine SET schema = $1', [version]);
  }
  return { from, to: MIGRATIONS.current };
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
