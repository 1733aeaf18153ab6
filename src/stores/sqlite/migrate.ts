// The schema of a file: whether this program can use it, and bringing it up to date.

import type { Database } from 'better-sqlite3';
import { NoDataError, StoreError } from '../errors.ts';
import { listMigrations, type MigrationResult } from '../sql/migrations.ts';
import { APPLICATION_ID, FIRST_IMPORT_ID } from './file.ts';

const MIGRATIONS = listMigrations('');

/** All migrations that are due, in one transaction. Where none is, it waits for no other writer. */
export function migrate(db: Database): MigrationResult {
  const schema = readSchema(db);
  if (schema === MIGRATIONS.current) return { from: schema, to: schema };
  return db
    .transaction(() => {
      const from = readSchema(db);
      for (const { version, sql } of MIGRATIONS.due(from)) {
        db.exec(sql());
        db.pragma(`application_id = ${APPLICATION_ID}`);
        db.pragma(`user_version = ${version}`);
      }
      return { from, to: MIGRATIONS.current };
    })
    .immediate();
}

export const readSchema = (db: Database) => db.pragma('user_version', { simple: true }) as number;

const readOwner = (db: Database) => db.pragma('application_id', { simple: true }) as number;

const hasNoTables = (db: Database) => db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;

/** Throws unless the file is ours, or empty, and not from a later version of this program. */
export function refuseForeign(db: Database, path: string): void {
  // As of one moment: another process may be making the file.
  const [owner, isEmpty] = db.transaction(() => [readOwner(db), hasNoTables(db)] as const)();
  if (owner !== APPLICATION_ID && owner !== FIRST_IMPORT_ID && (owner !== 0 || !isEmpty))
    throw new StoreError(`${path} is a database of another program.`);
  MIGRATIONS.refuseUnknown(path, readSchema(db));
}

/** Throws a sentence unless the file has the current schema. */
export function refuseUnfit(db: Database, path: string): void {
  refuseForeign(db, path);
  if (hasNoTables(db)) throw new NoDataError(`${path} is empty: run \`vitrine import\`.`);
  MIGRATIONS.refuseUnfit(path, readSchema(db));
}

export const unimported = (path: string) =>
  new NoDataError(`${path} was never imported into: run \`vitrine import\`.`);
