// The writing side of SQLite: imports, removals and repairs, each one transaction.
import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type ChangeOptions, createWriter } from '../create-writer.ts';
import { StoreError } from '../errors.ts';
import { type MergeConnection, merge } from '../merge.ts';
import { STAGED_COLUMNS, stagedKind, WORK_TABLES } from '../merge-statements.ts';
import { packAnswers } from '../packed-rows.ts';
import type { Load, LoadOptions, LoadOutcome, Tallies, Writer } from '../writer.ts';
import { type Connection, mergeConnection, openForTrial, openForWriting } from './connect.ts';
import { describeErrors, toStoreError } from './errors.ts';

/** Kilobytes: an import's memory, on top of what Node itself takes. */
const WRITING_CACHE = 8000;

export function openWriter(path: string): Writer {
  const isNew = !existsSync(path);
  const db = openForWriting(path);
  const writer = writerOn(db, path);
  return isNew ? { ...writer, close: () => closeNew(db, path) } : writer;
}

const IS_UNUSED = 'SELECT generation = 0 AND NOT EXISTS (SELECT 1 FROM takedowns) FROM vitrine';

/** A new file in which nothing was stored, as by an import that was refused, is removed. */
function closeNew(db: Connection, path: string): void {
  const isUnused = () => db.prepare(IS_UNUSED).pluck().get() === 1;
  try {
    if (!isUnused()) return;
    db.pragma('busy_timeout = 0');
    // Only who has the file for himself can leave WAL mode.
    db.pragma('journal_mode = DELETE');
    db.exec('BEGIN EXCLUSIVE');
    if (isUnused()) rmSync(path);
  } catch (error) {
    if (!/^SQLITE_(BUSY|LOCKED)/.test((error as { code?: string }).code ?? '')) throw error;
  } finally {
    db.close();
  }
}

/** For loads that are tried only. Where an import would make the file, they are tried on a new database. */
export function openTrialWriter(path: string): Writer {
  const stats = statSync(path, { throwIfNoEntry: false });
  const isEmpty = stats === undefined || (stats.isFile() && stats.size === 0);
  return isEmpty && existsSync(dirname(path)) ? openTemporary() : writerOn(openForTrial(path), path);
}

/** SQLite keeps a database without a name in a temporary file, and removes it at its end. */
export const openTemporary = () => writerOn(openForWriting(''), 'the temporary database');

/** A database in memory, to be filled and then served from its bytes. */
export function openMemory(): { writer: Writer; bytes: () => Buffer } {
  const db = openForWriting(':memory:');
  return { writer: writerOn(db, 'the sample data'), bytes: () => db.serialize() };
}

function writerOn(db: Connection, path: string): Writer {
  db.pragma(`cache_size = -${WRITING_CACHE}`);
  db.pragma(`temp.cache_size = -${WRITING_CACHE}`);
  return createWriter({
    load: (options) => describeErrors(path, () => startLoad(db, path, options)),
    change: (action, options) => change(db, path, action, options),
    close() {
      db.close();
    },
  });
}

const STAGED = `
  CREATE TEMP TABLE staged (
    n INTEGER PRIMARY KEY, kind INTEGER, place INTEGER, id INTEGER, user_key TEXT, owner INTEGER, date TEXT,
    record TEXT
  ) STRICT`;
const STAGE = `INSERT INTO staged (${STAGED_COLUMNS.join()}) VALUES (${STAGED_COLUMNS.map(() => '?').join()})`;

/** Rows wait in a temporary table, so that other writers are held up only while they are merged. */
function startLoad(db: Connection, path: string, options: LoadOptions): Load {
  db.exec('BEGIN');
  db.exec(STAGED);
  createWorkTables(db);
  const stage = db.prepare(STAGE);
  return {
    add({ kind, id, userKey, owner, date, record }, place) {
      describeErrors(path, () =>
        // A text becomes an exact integer in its column; a JavaScript number would be rounded.
        stage.run(stagedKind(kind), place, id, userKey, owner === '' ? null : owner, date, record),
      );
    },
    async finish(ending = 'commit') {
      try {
        db.exec('COMMIT; BEGIN IMMEDIATE');
        const tallies = await mergeStaged(db, options, ending);
        const commits = tallies !== undefined && ending === 'commit';
        if (commits) noteImport(db, tallies);
        db.exec(commits ? 'COMMIT' : 'ROLLBACK');
        return tallies;
      } catch (error) {
        throw toStoreError(path, error);
      } finally {
        endLoad(db);
      }
    },
    abandon: () => endLoad(db),
  };
}

/** A first import builds the index of ids at its end: filling it in the items' order costs a fifth of the whole. */
async function mergeStaged(
  db: Connection,
  options: LoadOptions,
  ending: LoadOutcome,
): Promise<Tallies | undefined> {
  const isFirst = db.prepare('SELECT 1 FROM items LIMIT 1').get() === undefined;
  if (isFirst) db.exec('DROP INDEX items_by_id');
  const merging = mergeConnection(db);
  const tallies = await merge(merging, options, ending);
  if (tallies !== undefined && ending === 'commit') await packAnswers(merging);
  if (isFirst) db.exec('CREATE UNIQUE INDEX items_by_id ON items (family, id)');
  return tallies;
}

/** The first import counts even when it was empty: with it the database is ready to be served. */
function noteImport(db: Connection, tallies: Tallies): void {
  const changed = Object.values(tallies).some((tally) => tally.new + tally.changed + tally.removed > 0);
  db.exec(changed ? ADVANCE : `${ADVANCE} WHERE generation = 0`);
  db.exec(`UPDATE vitrine SET last_run = ${NOW}`);
}

/** In microseconds since 1970. */
const NOW = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)";
const ADVANCE = `UPDATE vitrine SET generation = max(generation + 1, ${NOW})`;

function createWorkTables(db: Connection): void {
  for (const [name, columns] of Object.entries(WORK_TABLES))
    db.exec(`CREATE TEMP TABLE ${name} (${columns})`);
}

function endLoad(db: Connection): void {
  if (!db.open) return;
  if (db.inTransaction) db.exec('ROLLBACK');
  for (const name of ['staged', ...Object.keys(WORK_TABLES)]) db.exec(`DROP TABLE IF EXISTS temp.${name}`);
  emptyLog(db);
}

/** Only an import makes a new database ready to be served. */
async function change<T>(
  db: Connection,
  path: string,
  action: (merging: MergeConnection) => Promise<T>,
  { changesAnswers = () => true, erases = false }: ChangeOptions<T> = {},
): Promise<T> {
  const result = await inTransaction(db, path, async () => {
    if (erases) db.exec('DELETE FROM takedowns_forgotten');
    const made = await action(mergeConnection(db));
    if (changesAnswers(made)) db.exec(`${ADVANCE} WHERE generation > 0`);
    return made;
  });
  const hindrance = erases ? eraseTraces(db, path) : undefined;
  if (hindrance === undefined) return result;
  throw new StoreError(
    `The takedown is done, but ${path} still holds deleted data in unused space. ${hindrance} Repeat the command then.`,
  );
}

async function inTransaction<T>(db: Connection, path: string, action: () => Promise<T>): Promise<T> {
  try {
    db.exec('BEGIN IMMEDIATE');
    createWorkTables(db);
    const result = await action();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    throw toStoreError(path, error);
  } finally {
    endLoad(db);
  }
}

/** Writes the whole file anew, without its unused space; why that was not possible, as a sentence. */
function eraseTraces(db: Connection, path: string): string | undefined {
  try {
    db.exec('VACUUM');
    return emptyLog(db) ? undefined : 'Another process, such as an export, is reading it.';
  } catch (error) {
    return toStoreError(path, error).message;
  }
}

const LOG_WAIT_MS = 5000;

/**
 * Moves what the log holds into the file, so that the file alone can be copied or replaced. A reader in the middle of a
 * long read, such as an export, keeps the log from being emptied: then the next writer does it. A full disk does so as
 * well: what was committed is safe in the log, so this is not a failure of the import. Whether it was emptied.
 */
function emptyLog(db: Connection): boolean {
  const timeout = db.pragma('busy_timeout', { simple: true });
  db.pragma(`busy_timeout = ${LOG_WAIT_MS}`);
  try {
    return db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0;
  } catch (error) {
    if (!/^SQLITE_(FULL|IOERR)/.test((error as { code?: string }).code ?? '')) throw error;
    return false;
  } finally {
    db.pragma(`busy_timeout = ${timeout}`);
  }
}
