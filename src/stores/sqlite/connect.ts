// Connections to a SQLite file: opening it for writing or reading.

import { existsSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { errorCode } from '../../records/thrown.ts';
import { StoreError } from '../errors.ts';
import type { MigrationResult } from '../sql/migrations.ts';
import { noStep, type StepListener } from '../steps.ts';
import { addFunctions } from './dialect.ts';
import { describeErrors, toStoreError } from './errors.ts';
import {
  isSameFile,
  readStats,
  refuseFirstImport,
  refuseForeignLog,
  refuseMissing,
  refuseOddFile,
} from './file.ts';
import { emptyLog } from './log.ts';
import { isMigrationDue, makeTables, migrate, readSchema, refuseForeign, refuseUnfit } from './migrate.ts';

/** Kilobytes. A larger cache reads no faster than the system's own. */
const READING_CACHE = 500;

/** Other writers are waited for. */
const WRITING = { timeout: 60_000 };

export type OpenDatabase = Database.Database & Disposable;

/** For `using`, which closes the database at the end of the block. */
const disposable = (db: Database.Database): OpenDatabase =>
  Object.assign(db, { [Symbol.dispose]: () => void db.close() });

/** A database for data of one run that is too large for memory, in a temporary file that SQLite removes. */
export function openScratch(): OpenDatabase {
  const db = new Database('');
  db.pragma('journal_mode = MEMORY');
  // Never committed: what does not fit into the cache is in the file all the same.
  db.exec('BEGIN');
  return disposable(db);
}

/**
 * Opens a file that one process has for itself, created if it is missing; undefined if another still has it after the wait.
 * The system frees the lock when the process ends, however it ends, and the lock holds between containers that share the file.
 */
export function openExclusive(path: string, waitMs: number): OpenDatabase | undefined {
  return describeErrors(path, () => {
    const db = disposable(new Database(path, { timeout: waitMs }));
    try {
      db.pragma('locking_mode = EXCLUSIVE');
      db.exec('BEGIN EXCLUSIVE; COMMIT');
      return db;
    } catch (error) {
      db.close();
      if (errorCode(error) !== 'SQLITE_BUSY') throw error;
      return undefined;
    }
  });
}

export async function openForWriting(path: string, onStep?: StepListener): Promise<OpenDatabase> {
  const { database } = readStats(path);
  try {
    return (await openPrepared(path, onStep)).db;
  } catch (error) {
    if (database === undefined || isSameFile(database, readStats(path).database)) throw error;
    // Another import had made the file, was refused, and removed it meanwhile.
    return await openForWriting(path, onStep);
  }
}

/** A database that no other process can have. */
export const openNew = (name: '' | ':memory:'): OpenDatabase =>
  open(name, name, WRITING, (db) => {
    db.pragma('secure_delete = ON');
    makeTables(db);
  });

/**
 * A server that has not noticed yet that this file takes the place of its own, or has refused it, has the log and the index open
 * that lie here: sharing them, it would read our pages as its own, and we would read its pages as ours. They are not of this file if no process has it open.
 */
function removeForeignIndex(path: string): void {
  const index = `${path}-shm`;
  if (!existsSync(index)) return;
  refuseUnfitFile(path);
  using db = openExclusive(path, 0);
  if (db === undefined) return;
  rmSync(index, { force: true });
  // SQLite removes the log when it closes the file, but not an empty one beside a file that is made now.
  if (readStats(path).log?.size === 0) rmSync(`${path}-wal`);
}

/** Opens an existing file, brought to the current schema. */
export async function openMigrated(path: string, onStep?: StepListener): Promise<Prepared> {
  refuseMissing(path);
  return await openPrepared(path, onStep);
}

interface Prepared {
  readonly db: OpenDatabase;
  readonly result: MigrationResult;
}

async function openPrepared(path: string, onStep = noStep): Promise<Prepared> {
  removeForeignIndex(path);
  const db = open(path, path, WRITING, (opened) => {
    refuseForeign(opened, path);
    enterWalMode(opened, path);
    // What is deleted is overwritten: a takedown leaves no trace of a user (traces.ts).
    opened.pragma('secure_delete = ON');
  });
  try {
    return { db, result: await bringUpToDate(db, onStep) };
  } catch (error) {
    db.close();
    throw toStoreError(path, error);
  }
}

async function bringUpToDate(db: OpenDatabase, onStep: StepListener): Promise<MigrationResult> {
  const schema = readSchema(db);
  // Where nothing is due, no other writer is waited for.
  if (!isMigrationDue(db)) return { from: schema, to: schema };
  const result = await migrate(db, onStep);
  // It may have written most of the file.
  if (result.from > 0) emptyLog(db);
  return result;
}

/**
 * A snapshot gets into WAL mode without a journal file, since only one sector of it changes. A journal that a crash has left
 * locks out readers, and by it the next writer would cut a file that was renamed over this one. One that is left even after a
 * read belongs to a write that did not begin: SQLite removes it if it makes one of its own.
 */
function enterWalMode(db: OpenDatabase, path: string): void {
  const isSnapshot = db.pragma('journal_mode', { simple: true }) === 'delete' && readSchema(db) > 0;
  if (isSnapshot && !existsSync(`${path}-journal`)) db.pragma('journal_mode = MEMORY');
  db.pragma('journal_mode = WAL');
}

/** Opens an existing file of this schema or an older one for reading only. */
export const openToCopy = (path: string): OpenDatabase =>
  open(path, path, { readonly: true, fileMustExist: true, timeout: 1000 }, (db) => refuseForeign(db, path));

/** Opens a file for loads that are tried only: makes, migrates and converts nothing. */
export function openToTry(path: string): OpenDatabase {
  return open(path, path, { ...WRITING, fileMustExist: true }, (db) => refuseUnfit(db, path));
}

/** Opens a file, or a database held in memory, for reading only; throws unless it can be served. */
export function openForReading(source: string | Buffer, name: string): OpenDatabase {
  if (typeof source === 'string') {
    refuseMissing(source);
    refuseFirstImport(source);
  }
  return open(source, name, { readonly: true, fileMustExist: true, timeout: 1000 }, (db) => {
    db.pragma('query_only = ON');
    db.pragma(`cache_size = -${READING_CACHE}`);
    db.pragma('trusted_schema = OFF');
    refuseUnfit(db, name);
  });
}

/** Paths that this process has opened. */
const opened = new Set<string>();

function open(
  source: string | Buffer,
  name: string,
  options: Database.Options,
  prepare: (db: OpenDatabase) => void,
): OpenDatabase {
  return describeErrors(name, () => {
    if (typeof source === 'string') refuseUnfitFile(source);
    const db = disposable(openDatabase(source, name, options));
    try {
      addFunctions(db);
      prepare(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

function refuseUnfitFile(path: string): void {
  refuseOddFile(path);
  // Once: when this process closes a file that it has open in SQLite as well, SQLite loses its locks.
  if (!opened.has(path)) refuseForeignLog(path);
  opened.add(path);
}

function openDatabase(source: string | Buffer, name: string, options: Database.Options): Database.Database {
  try {
    return new Database(source, options);
  } catch (error) {
    // better-sqlite3 looks for the folder itself.
    if (error instanceof TypeError) throw new StoreError(`${name} cannot be opened: ${error.message}.`);
    throw error;
  }
}

/** The last byte of SQLite's codes for a read that failed. */
const IOERR = 10;

/** What is damaged, a line each. SQLite reports a page that it cannot read now as damage: that is thrown. */
export function findDamage(db: OpenDatabase, check: 'integrity_check(20)' | 'quick_check(1)'): string[] {
  // Each row has one text.
  const lines = (db.pragma(check) as Record<string, string>[]).flatMap((row) => Object.values(row));
  const unread = lines.find((line) => Number(/error code=(\d+)/.exec(line)?.[1]) % 256 === IOERR);
  if (unread !== undefined) throw new Database.SqliteError(unread, 'SQLITE_IOERR');
  return lines.filter((line) => line !== 'ok');
}
