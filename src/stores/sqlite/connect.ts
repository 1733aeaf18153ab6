// Connections to a SQLite file: opening it for writing or reading, and the functions that our SQL needs.
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import Database, { type Statement } from 'better-sqlite3';
import { etagOf } from '../../records/etag.ts';
import { userKey } from '../../records/user-name.ts';
import { NoDataError, StoreError } from '../errors.ts';
import type { MergeConnection } from '../merge.ts';
import type { MigrationResult } from '../migrations.ts';
import { packSync } from '../packing.ts';
import { takedownHash } from '../takedowns.ts';
import { describeErrors } from './errors.ts';
import { migrate, readSchema, refuseForeign, refuseUnfit, SCHEMA_VERSION } from './migrate.ts';

/** Kilobytes. A larger cache reads no faster than the system's own. */
const READING_CACHE = 500;

export type Connection = Database.Database;

/** A database for data of one run that is too large for memory, in a temporary file that SQLite removes. */
export function openScratch(): Connection & Disposable {
  const db = new Database('');
  db.pragma('journal_mode = OFF');
  // Never committed: what does not fit into the cache is in the file all the same.
  db.exec('BEGIN');
  return Object.assign(db, { [Symbol.dispose]: () => void db.close() });
}

/** Opens a file for writing, created or migrated where needed. */
export function openForWriting(path: string): Connection {
  return open(path, path, { timeout: 60_000 }, (db) => {
    refuseForeign(db, path);
    db.pragma('journal_mode = WAL');
    addFunctions(db);
    migrate(db);
  });
}

/** Brings an existing file to the current schema. */
export function migrateFile(path: string): MigrationResult {
  refuseMissing(path);
  const old = open(path, path, {}, () => {});
  const from = describeErrors(path, () => readSchema(old));
  old.close();
  openForWriting(path).close();
  return { from, to: SCHEMA_VERSION };
}

/** Opens a file for loads that are tried only: makes, migrates and converts nothing. */
export function openForTrial(path: string): Connection {
  return open(path, path, { fileMustExist: true, timeout: 60_000 }, (db) => {
    refuseUnfit(db, path);
    addFunctions(db);
  });
}

/** Opens a file, or a database held in memory, for reading only; throws unless it can be served. */
export function openForReading(source: string | Buffer, name: string): Connection {
  if (typeof source === 'string') refuseMissing(source);
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
  prepare: (db: Connection) => void,
): Connection {
  return describeErrors(name, () => {
    if (typeof source === 'string') {
      refuseOddFile(source);
      // Once: when this process closes a file that it has open in SQLite as well, SQLite loses its locks.
      if (isMainThread && !opened.has(source)) refuseForeignLog(source);
      opened.add(source);
    }
    const db = new Database(source, options);
    try {
      prepare(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

export function refuseMissing(path: string): void {
  if (existsSync(path)) return;
  if (!existsSync(dirname(path)))
    throw new StoreError(`${path} cannot be opened: its folder does not exist.`);
  throw new NoDataError(`${path} does not exist: \`vitrine import\` creates it.`);
}

/** Opening a pipe waits for its other end, and a device may never end. */
function refuseOddFile(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new StoreError(`${path} is a folder.`);
  if (stats !== undefined && !stats.isFile()) throw new StoreError(`${path} is not a regular file.`);
}

/** In the last bit, a log says which byte order its checksums have. */
const LOG_MAGIC = 0x377f0683;

/**
 * SQLite lays a log over whatever file it lies beside, also over one that was restored after a crash. A log belongs to
 * another file if this one is not in WAL mode, as a snapshot is not, or has pages of another size. Not to be called while
 * this process has the file open.
 */
export function refuseForeignLog(path: string): void {
  const log = readStart(`${path}-wal`, 12);
  // SQLite does not read what is no log, such as the zeros that a power failure leaves.
  if (log.length < 12 || (log.readUInt32BE(0) | 1) !== LOG_MAGIC) return;
  // Read after the log: a file is in WAL mode before it has one.
  const header = readStart(path, 20);
  if (header.length < 20) return;
  const pageSize = header.readUInt16BE(16);
  const isInWalMode = header[18] === 2 && header[19] === 2;
  if (isInWalMode && log.readUInt32BE(8) === (pageSize === 1 ? 65_536 : pageSize)) return;
  throw new StoreError(foreignLog(path));
}

export const foreignLog = (path: string) =>
  `${path}-wal holds changes to another file, which was at ${path} before: remove ${path}-wal and ${path}-shm.`;

/** Less, or nothing, where there is no such file. */
function readStart(path: string, length: number): Buffer {
  const start = Buffer.alloc(length);
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return start.subarray(0, 0);
  try {
    const file = openSync(path, 'r');
    try {
      return start.subarray(0, readSync(file, start, 0, length, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    // SQLite says why the file cannot be read.
    return start.subarray(0, 0);
  }
}

/** Functions that our SQL needs and SQLite has not. */
export function addFunctions(db: Connection): void {
  db.function('etag_of', { deterministic: true }, (text) => etagOf(String(text)));
  db.function('pack', { deterministic: true }, (text) => packSync(String(text)));
  db.function('user_key_of', { deterministic: true }, (name) => userKey(String(name)));
  db.function('takedown_hash', { deterministic: true }, (salt, family, what, value) =>
    takedownHash(String(salt), String(family), String(what), String(value)),
  );
}

/** A connection as the SQL that both stores share sees it. */
export function mergeConnection(db: Connection): MergeConnection {
  const prepared = new Map<string, Statement>();
  return {
    run(sql, values = []) {
      const statement = prepared.get(sql) ?? db.prepare(sql);
      prepared.set(sql, statement);
      return statement.run(Object.fromEntries(values.map((value, index) => [index + 1, value]))).changes;
    },
    rows: (sql) => db.prepare(sql).raw().iterate() as Iterable<string[]>,
    member: (name) => `(record ->> '${name}')`,
    hex: (column) => `hex(${column})`,
  };
}
