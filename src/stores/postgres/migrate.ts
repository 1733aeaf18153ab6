// The schema of a PostgreSQL database: whether this program can use it, and bringing it up to date.
import type pg from 'pg';
import { StoreError } from '../errors.ts';
import { listMigrations, type MigrationResult } from '../migrations.ts';
import { packAnswers } from '../packed-rows.ts';
import { firstValue, inTransaction, storeConnection } from './dialect.ts';
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
    if (version === 5) await packAnswers(storeConnection(client));
    await client.query('UPDATE vitrine SET schema = $1', [version]);
  }
  return { from, to: MIGRATIONS.current };
}

/** 0 when there are no tables yet. */
export async function readSchema(client: pg.Client): Promise<number> {
  if ((await firstValue(client, "SELECT to_regclass('vitrine')")) === null) return 0;
  return Number(await firstValue(client, 'SELECT schema FROM vitrine'));
}
