// The schema of a file: whether this program can use it, and bringing it up to date.

import type { Database } from 'better-sqlite3';
import { KINDS } from '../../records/kinds.ts';
import { NoDataError, StoreError } from '../errors.ts';
import { HAS_COPIES, tableName } from '../sql/media-statements.ts';
import { WORK_TABLES } from '../sql/merge-statements.ts';
import { listMigrations, type MigrationResult } from '../sql/migrations.ts';
import {
  completeRecord,
  isShapeDue,
  refuseNewerShape,
  refuseOtherShape,
  reshape,
  SHAPE,
} from '../sql/shape.ts';
import { sqlAdapter } from './dialect.ts';
import { APPLICATION_ID, FIRST_IMPORT_ID } from './file.ts';

const MIGRATIONS = listMigrations('');

const isCurrent = (db: Database) => readSchema(db) === MIGRATIONS.current;

/** Whether the file needs migrations, lists of a new variant, or new fields. */
export const isMigrationDue = (db: Database) => !isCurrent(db) || isShapeDue(readShape(db));

/** All that is due, in one transaction: if a part fails, the file stays as it was. */
export function migrate(db: Database, onStep: (name: string) => void): MigrationResult {
  return db
    .transaction(() => {
      const from = readSchema(db);
      for (const { version, sql } of MIGRATIONS.due(from)) {
        onStep(`migration ${version}`);
        db.exec(sql());
        db.pragma(`application_id = ${APPLICATION_ID}`);
        db.pragma(`user_version = ${version}`);
      }
      if (isShapeDue(readShape(db))) reshapeFile(db, onStep);
      return { from, to: MIGRATIONS.current };
    })
    .immediate();
}

// Each file has one row in `vitrine`.
const readShape = (db: Database) => db.prepare<[], string>(SHAPE).pluck().get() as string;

function reshapeFile(db: Database, onStep: (name: string) => void): void {
  onStep('new fields and lists');
  const hasCopies = db.prepare(HAS_COPIES).pluck().get() === 1;
  db.exec(`CREATE TEMP TABLE touched (${WORK_TABLES.touched})`);
  const steps = reshape(sqlAdapter(db), readShape(db), {
    hasCopies,
    complete(kind, before) {
      db.function('completed', (record) => completeRecord(String(record), kind, before));
      const update = `UPDATE ${tableName(kind)} SET record = completed(record) WHERE family = ?`;
      db.prepare(update).run(KINDS[kind].family);
    },
    replaceView: (view, query) => db.exec(`DROP VIEW IF EXISTS ${view}; CREATE VIEW ${view} AS ${query}`),
  });
  // Here each step is done when it is there.
  for (const _ of steps);
  db.exec('DROP TABLE temp.touched');
}

export const readSchema = (db: Database) => Number(db.pragma('user_version', { simple: true }));

const readOwner = (db: Database) => Number(db.pragma('application_id', { simple: true }));

const hasNoTables = (db: Database) => db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;

/** Throws unless the file is ours, or empty, and not from a later version of this program. */
export function refuseForeign(db: Database, path: string): void {
  // As of one moment: another process may be making the file.
  const [owner, isEmpty] = db.transaction(() => [readOwner(db), hasNoTables(db)] as const)();
  if (owner !== APPLICATION_ID && owner !== FIRST_IMPORT_ID && (owner !== 0 || !isEmpty))
    throw new StoreError(`${path} is a database of another program.`);
  MIGRATIONS.refuseUnknown(path, readSchema(db));
  if (isCurrent(db)) refuseNewerShape(path, readShape(db));
}

/** Throws a sentence unless the file has the current schema. */
export function refuseUnfit(db: Database, path: string): void {
  refuseForeign(db, path);
  if (hasNoTables(db)) throw new NoDataError(`${path} is empty: run \`vitrine import\`.`);
  MIGRATIONS.refuseUnfit(path, readSchema(db));
  refuseOtherShape(path, readShape(db));
}

export const unimported = (path: string) =>
  new NoDataError(`${path} was never imported into: run \`vitrine import\`.`);
