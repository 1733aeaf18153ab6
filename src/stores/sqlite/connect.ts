// Connections to a SQLite file: opening it for writing or reading, its schema, and its errors as sentences.
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { etagOf } from '../../records/etag.ts';
import { userKey } from '../../records/user-name.ts';
import type { MergeConnection } from '../merge.ts';
import { StoreError } from '../store.ts';

const MIGRATIONS = join(import.meta.dirname, '../../../migrations');
/** 'VITR' marks a file as ours. */
const APPLICATION_ID = 0x56495452;
/** Kilobytes. A larger cache reads no faster than the system's own (node test/bench/size.ts). */
const READING_CACHE = 500;

export type Connection = Database.Database;

function migrations(): { version: number; file: string }[] {
  return readdirSync(MIGRATIONS)
    .filter((file) => /^\d{3}-[\w-]+\.sql$/.test(file))
    .map((file) => ({ version: Number(file.slice(0, 3)), file }))
    .sort((a, b) => a.version - b.version);
}

export const schemaVersion = () => migrations().at(-1)?.version ?? 0;

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
    for (const { version, file } of migrations().filter((migration) => migration.version > current)) {
      db.exec(readFileSync(join(MIGRATIONS, file), 'utf8'));
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${version}`);
    }
  }).immediate();
}

/** Functions that our SQL needs and SQLite has not. */
export function addFunctions(db: Connection): void {
  db.function('etag_of', { deterministic: true }, (text) => etagOf(String(text)));
  db.function('user_key_of', { deterministic: true }, (name) => userKey(String(name)));
}

/** A connection as the SQL that both stores share sees it. */
export function mergeConnection(db: Connection): MergeConnection {
  return {
    run: (sql) => db.prepare(sql).run().changes,
    rows: (sql) => db.prepare(sql).raw().iterate() as Iterable<string[]>,
  };
}

const userVersion = (db: Connection) => db.pragma('user_version', { simple: true }) as number;

/** Throws unless the file is ours, or empty, and not from a later version of this program. */
function refuseForeign(db: Connection, path: string): void {
  const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number;
  const owner = db.pragma('application_id', { simple: true }) as number;
  if (owner !== APPLICATION_ID && (tables > 0 || owner !== 0))
    throw new StoreError(`${path} is a database of another program.`);
  if (userVersion(db) > schemaVersion())
    throw new StoreError(
      `${path} was made by a newer version of Vitrine (schema ${userVersion(db)}, this one knows ${schemaVersion()}).`,
    );
}

/** Throws a sentence unless the file can be served as it is. */
export function refuseUnfit(db: Connection, path: string): void {
  refuseForeign(db, path);
  if (userVersion(db) < schemaVersion())
    throw new StoreError(
      `${path} has an older schema (${userVersion(db)}, wanted ${schemaVersion()}): run any writing command on it, such as import, to migrate it.`,
    );
}

/** Before a file is served: creates a missing or empty database and migrates an older one. */
export function prepareFile(path: string): void {
  if (existsSync(path)) {
    const db = withSentences(path, () => new Database(path, { readonly: true }));
    try {
      const current = withSentences(path, () => userVersion(db));
      if (current >= schemaVersion()) return;
      if (current > 0 && !isWritable(path))
        throw new StoreError(
          `${path} has an older schema (${current}, wanted ${schemaVersion()}) and cannot be written: make a new snapshot of its source with this version.`,
        );
    } finally {
      db.close();
    }
  }
  openForWriting(path).close();
}

/** Opens a file, or a database held in memory, for reading only; throws unless it can be served. */
export function openForReading(source: string | Buffer, name: string): Connection {
  return withSentences(name, () => {
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

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
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
  if (code.startsWith('SQLITE_READONLY')) return `${path} cannot be written: it is read-only.`;
  if (code.startsWith('SQLITE_CANTOPEN') || error instanceof TypeError)
    return `${path} cannot be opened: the folder must exist, the file must be readable, and on read-only media it must come from \`vitrine snapshot\`.`;
  return `${path}: ${message}`;
}
