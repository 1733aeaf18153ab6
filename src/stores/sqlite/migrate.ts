// The schema of a file: whether this program can use it, and bringing it up to date.

import type { Database } from 'better-sqlite3';
import { NoDataError, StoreError } from '../errors.ts';
import {
  completeRecords,
  findLackingFields,
  refuseLackingFields,
  refuseUnknownFields,
  selectView,
  VIEWS,
} from '../sql/fields.ts';
import { findLacking, NEW_GENERATION, refuseLacking, STORED_NAMES } from '../sql/list-names.ts';
import { HAS_COPIES } from '../sql/media-statements.ts';
import { WORK_TABLES } from '../sql/merge-statements.ts';
import { listMigrations, type MigrationResult } from '../sql/migrations.ts';
import { sqlAdapter } from './dialect.ts';
import { APPLICATION_ID, FIRST_IMPORT_ID } from './file.ts';

const MIGRATIONS = listMigrations('');

/** Whether the file needs migrations, lists of a new variant, or new fields. */
export const isMigrationDue = (db: Database) =>
  readSchema(db) !== MIGRATIONS.current ||
  findLacking(readNames(db)).length > 0 ||
  findLackingFields(readFields(db)).length > 0;

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
      addLists(db);
      addFields(db, onStep);
      return { from, to: MIGRATIONS.current };
    })
    .immediate();
}

const COPY_LISTS = `
  INSERT INTO lists (family, user_key, collection, owner, etag, body)
  SELECT family, user_key, ?2, owner, etag, renamed_body(body, ?2) FROM lists WHERE family = ?1 AND collection = ?3`;

const readNames = (db: Database) => db.prepare<[], string>(STORED_NAMES).pluck().all();

/** Makes the lists of variants that this program has and the one before had not. */
function addLists(db: Database): void {
  const lacking = findLacking(readNames(db));
  for (const { family, name, source } of lacking) {
    db.prepare(COPY_LISTS).run({ 1: family, 2: name, 3: source });
    db.prepare('INSERT INTO list_names VALUES (?, ?)').run(family, name);
  }
  if (lacking.length > 0) db.exec(NEW_GENERATION);
}

const FIELDS = VIEWS.map((view) => `SELECT '${view} ' || name FROM pragma_table_info('${view}')`).join(
  ' UNION ALL ',
);

const readFields = (db: Database) => db.prepare<[], string>(FIELDS).pluck().all();

/** Gives records and lists the fields that this program has and the one before had not. */
function addFields(db: Database, onStep: (name: string) => void): void {
  const found = findLackingFields(readFields(db));
  if (found.length === 0) return;
  onStep('new fields');
  const sql = sqlAdapter(db);
  const hasCopies = db.prepare(HAS_COPIES).pluck().get() === 1;
  db.exec(`CREATE TEMP TABLE touched (${WORK_TABLES.touched})`);
  for (const lacking of found) {
    // Here each step is done when it is there.
    for (const _ of completeRecords(lacking, hasCopies, sql));
    const { view } = lacking;
    db.exec(`DROP VIEW IF EXISTS ${view}; CREATE VIEW ${view} AS ${selectView(lacking, sql.member)}`);
  }
  db.exec(`DROP TABLE temp.touched; ${NEW_GENERATION}`);
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
  refuseUnknownFields(path, readFields(db));
}

/** Throws a sentence unless the file has the current schema. */
export function refuseUnfit(db: Database, path: string): void {
  refuseForeign(db, path);
  if (hasNoTables(db)) throw new NoDataError(`${path} is empty: run \`vitrine import\`.`);
  MIGRATIONS.refuseUnfit(path, readSchema(db));
  refuseLacking(path, readNames(db));
  refuseLackingFields(path, readFields(db));
}

export const unimported = (path: string) =>
  new NoDataError(`${path} was never imported into: run \`vitrine import\`.`);
