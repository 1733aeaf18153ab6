// The writing side of SQLite: imports, removals and repairs, each one transaction.
import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { SqlAdapter } from '../sql-adapter.ts';
import type { Writer } from '../writer.ts';
import { createWriter } from '../writer.ts';
import { type Connection, openForWriting, openToTry } from './connect.ts';
import { sqlAdapter } from './dialect.ts';
import { describeErrors, toStoreError } from './errors.ts';
import { createWorkTables, emptyLog, endWork, startLoad } from './stage.ts';

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
    change: (action) => change(db, path, action),
    eraseTraces: () => eraseTraces(db, path),
    connection: sqlAdapter(db),
    close() {
      db.close();
    },
  });
}

/** In a transaction with the work tables of an import. */
export async function change<T>(
  db: Connection,
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

/** Writes the whole file anew, without its unused space. If that is not possible, a sentence says what stays, and why. */
export function eraseTraces(db: Connection, path: string): string | undefined {
  const reason = rewrite(db);
  return reason && `${path} still holds deleted data in unused space: ${reason}.`;
}

/** Why it was not possible. */
function rewrite(db: Connection): string | undefined {
  try {
    db.exec('VACUUM');
    return emptyLog(db)
      ? undefined
      : 'another process, such as an export, is reading it, or the disk is full';
  } catch (error) {
    const { code = '', message } = error as { code?: string; message: string };
    if (code.startsWith('SQLITE_FULL')) return 'writing it anew needs as much free disk space as it has';
    if (code.startsWith('SQLITE_BUSY')) return 'another process is writing it';
    return message;
  }
}
