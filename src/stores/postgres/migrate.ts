// The schema of a PostgreSQL database: whether this program can use it, and bringing it up to date.
import type pg from 'pg';
import { StoreError } from '../errors.ts';
import { listMigrations, type MigrationResult, refuseAncient } from '../migrations.ts';
import { packAnswers } from '../packed-rows.ts';
import { firstValue, inTransaction, storeConnection } from './dialect.ts';
import { describeErrors } from './errors.ts';

/** 'VITR': the lock that a migration holds, so that many nodes may start at once. */
const LOCK = 0x56495452;

const MIGRATIONS = listMigrations('postgres');
export const SCHEMA_VERSION = MIGRATIONS.at(-1)?.version ?? 0;

/** Makes the tables, or brings them to the current schema, in one transaction. */
export const migrate = (client: pg.Client, name: string): Promise<MigrationResult> =>
  describeErrors(name, () => inTransaction(client, 'BEGIN', () => migrateLocked(client, name)));

async function migrateLocked(client: pg.Client, name: string): Promise<MigrationResult> {
  if ((await firstValue(client, 'SHOW server_encoding')) !== 'UTF8')
    throw new StoreError(`The database at ${name} must be made with ENCODING 'UTF8'.`);
  await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
  const from = await readSchema(client, name);
  for (const { version, sql } of MIGRATIONS.filter((migration) => migration.version > from)) {
    await client.query(sql());
    if (version === 5) await packAnswers(storeConnection(client));
    await client.query('UPDATE vitrine SET schema = $1', [version]);
  }
  return { from, to: SCHEMA_VERSION };
}

/** 0 when there are no tables yet. */
export async function readSchema(client: pg.Client, name: string): Promise<number> {
  if ((await firstValue(client, "SELECT to_regclass('vitrine')")) === null) return 0;
  const schema = Number(await firstValue(client, 'SELECT schema FROM vitrine'));
  refuseUnfit(name, schema, 0);
  return schema;
}

/** Throws a sentence unless this program can use the schema. */
export function refuseUnfit(name: string, schema: number, least = SCHEMA_VERSION): void {
  if (schema > SCHEMA_VERSION)
    throw new StoreError(
      `The database at ${name} was made by a newer version of Vitrine (schema ${schema}, this one knows ${SCHEMA_VERSION}).`,
    );
  refuseAncient(`The database at ${name}`, schema, MIGRATIONS);
  if (schema < least)
    throw new StoreError(
      `The database at ${name} has an older schema (${schema}, wanted ${SCHEMA_VERSION}): run \`vitrine migrate\`.`,
    );
}
