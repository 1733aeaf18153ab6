// The writing side of SQLite: imports, removals and repairs, each one transaction.
import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreError } from '../errors.ts';
import type { Load, LoadOptions, LoadOutcome, Tallies } from '../sql/load.ts';
import { STAGED_COLUMNS, stagedKind } from '../sql/merge-statements.ts';
import type { SqlAdapter } from '../sql/sql-adapter.ts';
import { noStep, type StepListener } from '../steps.ts';
import { createWriter, importStaged, type Writer } from '../writer.ts';
import { type OpenDatabase, openForWriting, openMigrated, openNew, openToTry } from './connect.ts';
import { sqlAdapter } from './dialect.ts';
import { describeErrors, toStoreError } from './errors.ts';
import { APPLICATION_ID, FIRST_IMPORT_ID } from './file.ts';
import { attempt, emptyLog } from './log.ts';
import { createWorkTables } from './migrate.ts';
import { compact, describeTraces, eraseTraces } from './traces.ts';

/** Kilobytes: an import's memory, on top of what Node itself takes. */
const WRITING_CACHE = 8000;

export async function openWriter(path: string, onStep?: StepListener): Promise<Writer> {
  const isNew = !existsSync(path);
  const db = await openForWriting(path, onStep);
  const writer = writerOn(db, path);
  return isNew ? { ...writer, close: () => closeNew(db, path) } : writer;
}

/** Brings an existing file to the current schema. */
export async function migrateFile(path: string, isCompacting: boolean, onStep: StepListener) {
  const { db, result } = await openMigrated(path, onStep);
  using _closed = db;
  const failure = isCompacting ? await compact(db, path, onStep) : undefined;
  if (failure !== undefined) throw new StoreError(failure);
  return { ...result, traces: describeTraces(db, path) };
}

const IS_UNUSED = 'SELECT generation = 0 AND NOT EXISTS (SELECT 1 FROM takedowns) FROM vitrine';

/** A new file in which nothing was stored, as by an import that was refused, is removed. */
function closeNew(db: OpenDatabase, path: string): void {
  const isUnused = () => db.prepare(IS_UNUSED).pluck().get() === 1;
  try {
    if (!isUnused()) return;
    db.pragma('busy_timeout = 0');
    // Only who has the file for himself can leave WAL mode.
    db.pragma('journal_mode = DELETE');
    db.exec('BEGIN EXCLUSIVE');
    if (isUnused()) rmSync(path);
  } catch {
    // Another process uses it, or it cannot be read: it stays.
  } finally {
    db.close();
  }
}

/** For loads that are tried only. Where an import would make the file, they are tried on a new database. */
export function openTrialWriter(path: string): Writer {
  const stats = statSync(path, { throwIfNoEntry: false });
  const isEmpty = stats === undefined || (stats.isFile() && stats.size === 0);
  return isEmpty && existsSync(dirname(path)) ? openTemporary() : writerOn(openToTry(path), path);
}

/** SQLite keeps a database without a name in a temporary file, and removes it at its end. */
export const openTemporary = () => writerOn(openNew(''), 'the temporary database');

/** A database in memory, to be filled and then served from its bytes. */
export function openMemory(): { writer: Writer; bytes: () => Buffer } {
  const db = openNew(':memory:');
  return { writer: writerOn(db, 'the sample data'), bytes: () => db.serialize() };
}

function writerOn(db: OpenDatabase, path: string): Writer {
  db.pragma(`cache_size = -${WRITING_CACHE}`);
  db.pragma(`temp.cache_size = -${WRITING_CACHE}`);
  return createWriter({
    load: (options) => describeErrors(path, () => startLoad(db, path, options)),
    change: (action) => change(db, path, action),
    eraseTraces: (onStep) => eraseTraces(db, path, onStep),
    describeTraces: () => describeTraces(db, path),
    adapter: sqlAdapter(db),
    close() {
      db.close();
    },
  });
}

/** In a transaction with the work tables of an import. */
export async function change<T>(
  db: OpenDatabase,
  path: string,
  action: (store: SqlAdapter) => Promise<T>,
): Promise<T> {
  try {
    db.exec('BEGIN IMMEDIATE');
    createWorkTables(db);
    const result = await action(sqlAdapter(db));
    db.exec('COMMIT');
    return result;
  } catch (error) {
    throw toStoreError(path, error);
  } finally {
    endWork(db);
  }
}

// The rows of an import on their way into a file: a temporary table, so that other writers are held up only while it is
// merged.

const STAGED = `
  CREATE TEMP TABLE staged (
    n INTEGER PRIMARY KEY, kind INTEGER, place INTEGER, id INTEGER, user_key TEXT, words TEXT, owner INTEGER, date TEXT,
    record TEXT
  ) STRICT`;
const STAGE = `INSERT INTO staged (${STAGED_COLUMNS.join()}) VALUES (${STAGED_COLUMNS.map(() => '?').join()})`;

export function startLoad(db: OpenDatabase, path: string, options: LoadOptions): Load {
  db.exec('BEGIN');
  db.exec(STAGED);
  createWorkTables(db);
  const stage = db.prepare(STAGE);
  return {
    add({ kind, id, userKey, words, owner, date, record }, place) {
      describeErrors(path, () =>
        // A text becomes an exact integer in its column; a JavaScript number would be rounded.
        stage.run(stagedKind(kind), place, id, userKey, words, owner === '' ? null : owner, date, record),
      );
    },
    async finish(ending = 'commit') {
      let isFirst = false;
      try {
        db.exec('COMMIT');
        isFirst = ending === 'commit' && beginFirst(db);
        return await finish(db, options, ending);
      } catch (error) {
        throw toStoreError(path, error);
      } finally {
        endWork(db);
        if (isFirst) endFirst(db);
      }
    },
    abandon: () => endWork(db),
  };
}

/**
 * A first import writes into the file itself, beside a journal of a few pages: a log would be as large as the file. Readers
 * are locked out meanwhile (connect.ts) and have nothing to read anyway. False if it is not the first, or if another process
 * has the file open.
 */
function beginFirst(db: OpenDatabase): boolean {
  if (db.prepare('SELECT generation FROM vitrine').pluck().get() !== 0) return false;
  if (attempt(db, 'journal_mode = DELETE') !== 'delete') return false;
  attempt(db, `application_id = ${FIRST_IMPORT_ID}`);
  return true;
}

function endFirst(db: OpenDatabase): void {
  attempt(db, `application_id = ${APPLICATION_ID}`);
  attempt(db, 'journal_mode = WAL');
}

async function finish(
  db: OpenDatabase,
  options: LoadOptions,
  ending: LoadOutcome,
): Promise<Tallies | undefined> {
  db.exec('BEGIN IMMEDIATE');
  // A first import builds the index of ids at its end: filling it in the items' order costs a fifth of the whole.
  const isFirst = db.prepare('SELECT 1 FROM items LIMIT 1').get() === undefined;
  if (isFirst) db.exec('DROP INDEX items_by_id');
  const { tallies, commits } = await importStaged(sqlAdapter(db), options, ending);
  const { onStep = noStep } = options;
  if (isFirst && commits) onStep('index of ids');
  if (isFirst && commits) db.exec('CREATE UNIQUE INDEX items_by_id ON items (family, id)');
  onStep(commits ? 'to the disk' : 'undoing the trial');
  db.exec(commits ? 'COMMIT' : 'ROLLBACK');
  return tallies;
}

/** Rolls back what was not committed. A failure is no failure of what was: it stays committed. */
function endWork(db: OpenDatabase): void {
  if (!db.open) return;
  try {
    if (db.inTransaction) db.exec('ROLLBACK');
    db.exec('DROP TABLE IF EXISTS temp.staged');
  } catch {
    // The temporary table ends with the connection.
  }
  emptyLog(db);
}
