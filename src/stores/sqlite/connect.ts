// Connections to a SQLite file: opening it for writing or reading, its schema, and its errors as sentences.
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database, { type Statement } from 'better-sqlite3';
import { etagOf } from '../../records/etag.ts';
import { userKey } from '../../records/user-name.ts';
import { NoDataError, StoreError } from '../errors.ts';
import type { MergeConnection } from '../merge.ts';
import { listMigrations, type MigrationResult } from '../migrations.ts';
import { takedownHash } from '../takedowns.ts';

/** 'VITR' marks a file as ours. */
const APPLICATION_ID = 0x56495452;
/** Kilobytes. A larger cache reads no faster than the system's own (node test/bench/size.ts). */
const READING_CACHE = 500;

export type Connection = Database.Database;

/** A database for data of one run that is too large for memory, in a temporary file that SQLite removes. */
export function openScratch(): Connection {
  const db = new Database('');
  db.pragma('journal_mode = OFF');
  // Never committed: what does not fit into the cache is in the file all the same.
  db.exec('BEGIN');
  return db;
}

const MIGRATIONS = listMigrations('');
export const SCHEMA_VERSION = MIGRATIONS.at(-1)?.version ?? 0;

/** Opens a file for writing, created or migrated where needed. */
export function openForWriting(path: string): Connection {
  return withSentences(path, () => {
    const db = new Database(path, { timeout: 60_000 });
    try {
      refuseForeign(db, path);
      db.pragma('journal_mode = WAL');
      addFunctions(db);
      migrate(db);
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  });
}

/** Brings an existing file to the current schema. */
export function migrateFile(path: string): MigrationResult {
  return withSentences(path, () => {
    refuseMissing(path);
    const old = new Database(path);
    const from = userVersion(old);
    old.close();
    openForWriting(path).close();
    return { from, to: SCHEMA_VERSION };
  });
}

/** Opens a file for loads that are tried only: makes, migrates and converts nothing. */
export function openForTrial(path: string): Connection {
  return withSentences(path, () => {
    const db = new Database(path, { fileMustExist: true, timeout: 60_000 });
    try {
      refuseUnfit(db, path);
      addFunctions(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** All migrations that are due, in one transaction. */
function migrate(db: Connection): void {
  db.transaction(() => {
    const current = userVersion(db);
    for (const { version, sql } of MIGRATIONS.filter((migration) => migration.version > current)) {
      db.exec(sql());
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${version}`);
    }
  }).immediate();
}

/** Functions that our SQL needs and SQLite has not. */
export function addFunctions(db: Connection): void {
  db.function('etag_of', { deterministic: true }, (text) => etagOf(String(text)));
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
  };
}

const userVersion = (db: Connection) => db.pragma('user_version', { simple: true }) as number;

const hasNoTables = (db: Connection) => db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;

/** Throws unless the file is ours, or empty, and not from a later version of this program. */
function refuseForeign(db: Connection, path: string): void {
  const owner = db.pragma('application_id', { simple: true }) as number;
  if (owner !== APPLICATION_ID && (owner !== 0 || !hasNoTables(db)))
    throw new StoreError(`${path} is a database of another program.`);
  if (userVersion(db) > SCHEMA_VERSION)
    throw new StoreError(
      `${path} was made by a newer version of Vitrine (schema ${userVersion(db)}, this one knows ${SCHEMA_VERSION}).`,
    );
}

/** Throws a sentence unless the file has the current schema. */
export function refuseUnfit(db: Connection, path: string): void {
  refuseForeign(db, path);
  const schema = userVersion(db);
  if (schema === SCHEMA_VERSION) return;
  if (schema === 0 && hasNoTables(db)) throw new NoDataError(`${path} is empty: run \`vitrine import\`.`);
  throw new NoDataError(
    `${path} has an older schema (${schema}, wanted ${SCHEMA_VERSION}): run \`vitrine migrate\`, or make a snapshot again with this version.`,
  );
}

/** Throws a sentence unless something was imported. */
export function refuseUnimported(db: Connection, path: string): void {
  if (db.prepare('SELECT generation FROM vitrine').pluck().get() === 0)
    throw new NoDataError(`${path} was never imported into: run \`vitrine import\`.`);
}

export function refuseMissing(path: string): void {
  if (existsSync(path)) return;
  if (!existsSync(dirname(path)))
    throw new StoreError(`${path} cannot be opened: its folder does not exist.`);
  throw new NoDataError(`${path} does not exist: \`vitrine import\` creates it.`);
}

/** Opens a file, or a database held in memory, for reading only; throws unless it can be served. */
export function openForReading(source: string | Buffer, name: string): Connection {
  return withSentences(name, () => {
    if (typeof source === 'string') refuseMissing(source);
    const db = new Database(source, { readonly: true, fileMustExist: true, timeout: 1000 });
    try {
      db.pragma('query_only = ON');
      db.pragma(`cache_size = -${READING_CACHE}`);
      db.pragma('trusted_schema = OFF');
      refuseUnfit(db, name);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** Runs what touches a database file and turns SQLite's errors into sentences about it. */
export function withSentences<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw asStoreError(path, error);
  }
}

export function asStoreError(path: string, error: unknown): StoreError {
  return error instanceof StoreError ? error : new StoreError(sentence(path, error), { cause: error });
}

function sentence(path: string, error: unknown): string {
  const { code = '', message } = error as { code?: string; message: string };
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return `${path} is a folder.`;
  if (code === 'SQLITE_NOTADB') return `${path} is not a SQLite database.`;
  if (code.startsWith('SQLITE_CORRUPT')) return `${path} is damaged: restore it from a copy.`;
  if (code.startsWith('SQLITE_FULL') || code === 'ENOSPC')
    return `The disk is full: nothing of this was written to ${path}.`;
  if (code.startsWith('SQLITE_BUSY'))
    return `${path} is being written by another process; try again when it is done.`;
  if (code.startsWith('SQLITE_READONLY') && existsSync(`${path}-journal`))
    return `${path}-journal is left of a write that did not end: \`vitrine migrate\` undoes that write; remove the file if it belongs to another database.`;
  if (code.startsWith('SQLITE_READONLY')) return `${path} cannot be written: it is read-only.`;
  if (code.startsWith('SQLITE_CANTOPEN') || error instanceof TypeError)
    return `${path} cannot be opened: the folder must exist, the file must be readable, and on read-only media it must come from \`vitrine snapshot\`.`;
  return `${path}: ${message}`;
}
