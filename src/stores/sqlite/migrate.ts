// The schema of a file: whether this program can use it, and bringing it up to date.
import type { Database } from 'better-sqlite3';
import { NoDataError, StoreError } from '../errors.ts';
import { listMigrations, refuseAncient } from '../migrations.ts';

/** 'VITR' marks a file as ours. */
const APPLICATION_ID = 0x56495452;
const MIGRATIONS = listMigrations('');
export const SCHEMA_VERSION = MIGRATIONS.at(-1)?.version ?? 0;

/** All migrations that are due, in one transaction. */
export function migrate(db: Database): void {
  db.transaction(() => {
    const current = readSchema(db);
    for (const { version, sql } of MIGRATIONS.filter((migration) => migration.version > current)) {
      db.exec(sql());
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${version}`);
    }
  }).immediate();
}

export const readSchema = (db: Database) => db.pragma('user_version', { simple: true }) as number;

const hasNoTables = (db: Database) => db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;

/** Throws unless the file is ours, or empty, and not from a later version of this program. */
export function refuseForeign(db: Database, path: string): void {
  const owner = db.pragma('application_id', { simple: true }) as number;
  if (owner !== APPLICATION_ID && (owner !== 0 || !hasNoTables(db)))
    throw new StoreError(`${path} is a database of another program.`);
  const schema = readSchema(db);
  refuseAncient(path, schema, MIGRATIONS);
  if (schema > SCHEMA_VERSION)
    throw new StoreError(
      `${path} was made by a newer version of Vitrine (schema ${schema}, this one knows ${SCHEMA_VERSION}).`,
    );
}

/** Throws a sentence unless the file has the current schema. */
export function refuseUnfit(db: Database, path: string): void {
  refuseForeign(db, path);
  const schema = readSchema(db);
  if (schema === SCHEMA_VERSION) return;
  if (schema === 0 && hasNoTables(db)) throw new NoDataError(`${path} is empty: run \`vitrine import\`.`);
  throw new NoDataError(
    `${path} has an older schema (${schema}, wanted ${SCHEMA_VERSION}): run \`vitrine migrate\`, or make a snapshot again with this version.`,
  );
}

/** Throws a sentence unless something was imported. */
export function refuseUnimported(db: Database, path: string): void {
  if (db.prepare('SELECT generation FROM vitrine').pluck().get() === 0)
    throw new NoDataError(`${path} was never imported into: run \`vitrine import\`.`);
}
