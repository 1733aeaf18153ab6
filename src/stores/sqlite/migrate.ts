// The schema of a file: whether this program can use it, and bringing it up to date.

import BetterSqlite, { type Database } from 'better-sqlite3';
import { KINDS } from '../../records/kinds.ts';
import { NoDataError, StoreError } from '../errors.ts';
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
import type { StepListener } from '../steps.ts';
import { sqlAdapter } from './dialect.ts';
import { APPLICATION_ID, FIRST_IMPORT_ID } from './file.ts';

const SCHEMA = schemaOf('sqlite');

const isCurrent = (db: Database) => readSchema(db) === SCHEMA.current;

/** Whether the file needs migrations, lists of a new variant, or new fields. */
export const isMigrationDue = (db: Database) => !isCurrent(db) || isShapeDue(readShape(db));

/** The tables of a new file. */
export function makeTables(db: Database): void {
  db.exec(SCHEMA.read('schema.sql'));
  setVersion(db);
  reshapeFile(db);
}

function setVersion(db: Database): void {
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.pragma(`user_version = ${SCHEMA.current}`);
}

/** All that is due, in one transaction: if a part fails, the file stays as it was. */
export async function migrate(db: Database, onStep: StepListener): Promise<MigrationResult> {
  db.exec('BEGIN IMMEDIATE');
  try {
    const from = readSchema(db);
    if (from === 0) makeTables(db);
    else if (isMigrationDue(db)) await bringUp(db, from, onStep);
    db.exec('COMMIT');
    return { from, to: SCHEMA.current };
  } finally {
    if (db.inTransaction) db.exec('ROLLBACK');
  }
}

/** The records come first, then all that follows from them. */
async function bringUp(db: Database, from: number, onStep: StepListener): Promise<void> {
  if (from < SCHEMA.current) {
    onStep('tables');
    bringTables(db);
    setVersion(db);
  }
  onStep('records');
  const hasOtherShape = isShapeDue(readShape(db));
  reshapeFile(db);
  createWorkTables(db);
  const adapter = sqlAdapter(db);
  await deriveEverything(adapter, { onStep });
  await repairCounts(adapter);
  // Caches purge everything.
  if (hasOtherShape) db.exec(NEW_GENERATION);
}

/** Tables with more than what follows from others. Those of an older file stay, and get the columns of now. */
const KEPT = [
  'profiles',
  'items',
  'media',
  'copies',
  'takedown_salts',
  'takedowns',
  'takedown_marks',
  'subscribers',
  'vitrine',
];

const FORMER_TABLES = ['takedowns_forgotten', 'list_names', 'unswept', 'media_doubts'];
const FORMER_INDEXES = ['profiles_unpacked', 'media_measured', 'media_unmeasured'];
const FORMER_COLUMNS = {
  profiles: ['packed'],
  vitrine: ['measured', 'swept_schema'],
  media: ['bytes', 'width', 'height', 'color', 'small'],
};

/** What the new columns and tables are filled with; all else is derived. */
const FILL = `
  UPDATE profiles SET words = words_of(record);
  INSERT INTO takedown_marks (mark) SELECT etag_of(string_agg(hash, '' ORDER BY hash)) FROM takedowns
    HAVING count(*) > 0 AND NOT EXISTS (SELECT 1 FROM takedown_marks);
  UPDATE vitrine SET last_run = max(last_run, generation);
  -- Their names had the whole address, which may be secret.
  DELETE FROM subscribers WHERE name LIKE 'post:http%' AND name NOT LIKE '%…%'`;
/**
 * What is known of a copy stood with each of its addresses. A picture that could not be decoded had the width 0, and how often as
 * its height.
 */
const FILL_COPIES = `
  INSERT INTO copies SELECT file, max(bytes), nullif(max(width), 0), iif(max(width) > 0, max(height), NULL), max(color), max(small),
    iif(max(width) = 0, max(height), 0) FROM media WHERE file IS NOT NULL GROUP BY file`;
/** Before pictures were measured. */
const FILL_UNMEASURED = `
  INSERT INTO copies (file, bytes) SELECT file, max(bytes) FROM media WHERE file IS NOT NULL GROUP BY file`;
/** Earlier versions have left deleted data in a file. */
const HOLDS_TRACES = 'UPDATE vitrine SET holds_traces = min(generation, 1)';
/** Who was noted as changed is gone: subscribers are told of everything. */
const FORGET = 'DELETE FROM generations; UPDATE vitrine SET erase_before = NULL';

interface Column {
  readonly name: string;
  readonly type: string;
}

const columnsOf = (db: Database, table: string) =>
  db
    .prepare<[string], Column>(
      `SELECT name, type || iif("notnull", ' NOT NULL', '') || coalesce(' DEFAULT ' || dflt_value, '') AS type
       FROM pragma_table_info(?)`,
    )
    .all(table);

const inOrder = (columns: readonly Column[]) =>
  columns
    .map(({ name, type }) => `${name} ${type}`)
    .sort()
    .join();

const has = (db: Database, table: string, column: string) =>
  columnsOf(db, table).some(({ name }) => name === column);

interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly sql: string;
}

const listObjects = (db: Database) =>
  db
    .prepare<[], SchemaObject>(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
    )
    .all();

/** The tables of now, without rows. */
function openEmpty(): Database {
  const db = new BetterSqlite(':memory:');
  db.exec(SCHEMA.read('schema.sql'));
  return db;
}

function listOurObjects(): SchemaObject[] {
  const db = openEmpty();
  try {
    return listObjects(db);
  } finally {
    db.close();
  }
}

/** Names an object of a foreign file whose name has another type here, if there is one: a view in place of a table may never end. */
export function findOtherType(db: Database): string | undefined {
  const types = new Map(listOurObjects().map(({ name, type }) => [name, type]));
  for (const { name, type } of listObjects(db)) {
    const expected = types.get(name.toLowerCase()) ?? type;
    if (type !== expected) return `${name} is a ${type}, not a ${expected}`;
  }
  return undefined;
}

/** A view of a foreign file may be another query than ours, and never end. */
export function replaceViews(db: Database): void {
  for (const { type, name, sql } of listOurObjects())
    if (type === 'view') db.exec(`DROP VIEW IF EXISTS ${name}; ${sql}`);
}

/** Gives a file of any earlier version the tables of this one. */
function bringTables(db: Database): void {
  const former = {
    hadTraces: !has(db, 'vitrine', 'holds_traces'),
    changes: inOrder(columnsOf(db, 'changes')),
  };
  dropFormer(db);
  const now = openEmpty();
  for (const { type, name, sql } of listObjects(now)) {
    const [before, after] = [columnsOf(db, name), columnsOf(now, name)];
    if (type === 'table' && KEPT.includes(name) && before.length > 0) {
      for (const column of after)
        if (!before.some((one) => one.name === column.name))
          db.exec(`ALTER TABLE ${name} ADD COLUMN ${column.name} ${column.type}`);
    } else if (type !== 'table' || inOrder(before) !== inOrder(after)) {
      db.exec(`DROP ${type} IF EXISTS ${name}; ${sql}`);
    }
  }
  now.close();
  db.exec(FILL);
  if (has(db, 'media', 'bytes')) db.exec(has(db, 'media', 'width') ? FILL_COPIES : FILL_UNMEASURED);
  dropFormerColumns(db);
  if (former.hadTraces) db.exec(HOLDS_TRACES);
  if (former.changes !== inOrder(columnsOf(db, 'changes'))) db.exec(FORGET);
}

/** What earlier versions had, and this one has not. No version has triggers any more. */
function dropFormer(db: Database): void {
  const triggers = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck();
  for (const name of triggers.all()) db.exec(`DROP TRIGGER ${name}`);
  for (const table of FORMER_TABLES) db.exec(`DROP TABLE IF EXISTS ${table}`);
  for (const index of FORMER_INDEXES) db.exec(`DROP INDEX IF EXISTS ${index}`);
}

function dropFormerColumns(db: Database): void {
  for (const [table, columns] of Object.entries(FORMER_COLUMNS))
    for (const column of columns)
      if (has(db, table, column)) db.exec(`ALTER TABLE ${table} DROP COLUMN ${column}`);
}

/** They stay: making or dropping a table costs as much as there are statements that were not collected yet. */
export function createWorkTables(db: Database): void {
  for (const [name, columns] of Object.entries(WORK_TABLES))
    db.exec(`CREATE TEMP TABLE IF NOT EXISTS ${name} (${columns}); DELETE FROM temp.${name}`);
}

// Each file has one row in `vitrine`.
const readShape = (db: Database) => db.prepare<[], string>(SHAPE).pluck().get() as string;

function reshapeFile(db: Database): void {
  const steps = reshape(sqlAdapter(db), readShape(db), {
    complete(kind, before) {
      db.function('completed', (record) => completeRecord(String(record), kind, before));
      const update = `UPDATE ${tableName(kind)} SET record = completed(record) WHERE family = ?`;
      db.prepare(update).run(KINDS[kind].family);
    },
    replaceView: (view, query) => db.exec(`DROP VIEW IF EXISTS ${view}; CREATE VIEW ${view} AS ${query}`),
  });
  // Here each step is done when it is there.
  for (const _ of steps);
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
  SCHEMA.refuseUnknown(path, readSchema(db));
  if (isCurrent(db)) refuseNewerShape(path, readShape(db));
}

/** Throws a sentence unless the file has the current schema. */
export function refuseUnfit(db: Database, path: string): void {
  refuseForeign(db, path);
  if (hasNoTables(db)) throw new NoDataError(`${path} is empty: run \`vitrine import\`.`);
  SCHEMA.refuseUnfit(path, readSchema(db));
  refuseOtherShape(path, readShape(db));
}

export const unimported = (path: string) =>
  new NoDataError(`${path} was never imported into: run \`vitrine import\`.`);
