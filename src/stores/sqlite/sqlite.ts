// SQLite files: making and migrating them, and the read-only side that serves.
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { ITEM_CAP, KIND_NAMES, KINDS } from '../../records/kinds.ts';
import { type Counts, type Reader, StoreError } from '../store.ts';
import { itemsBehind } from './places.ts';

const MIGRATIONS = join(import.meta.dirname, '../../../migrations');
/** 'VITR': says whose a database file is. */
const APPLICATION_ID = 0x56495452;
/** Kilobytes: what lies in a larger cache is no nearer than what the system keeps (node test/bench/size.ts). */
const READING_CACHE = 500;

export type Connection = Database.Database;

function migrations(): { version: number; file: string }[] {
  return readdirSync(MIGRATIONS)
    .filter((file) => /^\d{3}-[\w-]+\.sql$/.test(file))
    .map((file) => ({ version: Number(file.slice(0, 3)), file }))
    .sort((a, b) => a.version - b.version);
}

export const schemaVersion = () => migrations().at(-1)?.version ?? 0;

/** Opens a file for writing, made or brought to today's schema where needed. */
export function openForWriting(path: string): Connection {
  return explained(path, () => {
    const db = new Database(path, { timeout: 60_000 });
    try {
      refuseForeign(db, path);
      db.pragma('journal_mode = WAL');
      migrate(db);
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  });
}

function migrate(db: Connection): void {
  for (const { version, file } of migrations()) {
    db.transaction(() => {
      if (userVersion(db) >= version) return;
      db.exec(readFileSync(join(MIGRATIONS, file), 'utf8'));
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${version}`);
    }).immediate();
  }
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

/** Throws, with a sentence, unless a file can be served as it is. */
export function refuseUnfit(db: Connection, path: string): void {
  refuseForeign(db, path);
  if (userVersion(db) < schemaVersion())
    throw new StoreError(
      `${path} has an older schema (${userVersion(db)}, wanted ${schemaVersion()}): run any writing command on it, such as import, to migrate it.`,
    );
}

/** Makes a missing or empty database, and migrates an older one, before it is served. */
export function prepareFile(path: string): void {
  if (existsSync(path)) {
    const db = explained(path, () => new Database(path, { readonly: true }));
    try {
      const current = explained(path, () => userVersion(db));
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

/** Runs what touches a database file; SQLite's own words become a sentence about the file. */
export function explained<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(sentence(path, error), { cause: error });
  }
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

export interface ReadingOptions {
  /** Leaves nothing beside the file when it is closed, which takes a handle that could write. */
  readonly tidy?: boolean;
}

/** Opens a file, or a database held in memory, for reading only, and makes sure that it is one that can be served. */
export function openForReading(
  source: string | Buffer,
  name: string,
  { tidy = false }: ReadingOptions = {},
): Connection {
  return explained(name, () => {
    const readonly = !(tidy && isWritable(name));
    const db = new Database(source, { readonly, fileMustExist: true, timeout: 1000 });
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

export function openReader(source: string | Buffer, options?: ReadingOptions): Reader {
  const name = typeof source === 'string' ? source : 'the sample data';
  return readerOf(openForReading(source, name, options), name);
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function readerOf(db: Connection, path: string): Reader {
  const dataVersion = db.prepare('PRAGMA data_version').pluck();
  const begin = db.prepare('BEGIN');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  const profile = db
    .prepare('SELECT CAST(record AS BLOB) FROM profiles WHERE family = ? AND user_key = ?')
    .pluck();
  const items = db
    .prepare(
      `SELECT CAST('{"' || ? || '":[' || coalesce((
         SELECT group_concat(record, ',') FROM (
           SELECT record FROM items WHERE ${itemsBehind('profiles.place')}
           ORDER BY place LIMIT ${ITEM_CAP})), '') || ']}' AS BLOB)
       FROM profiles INDEXED BY places WHERE family = ? AND user_key = ?`,
    )
    .pluck();

  // One turn of the event loop is one glance at the data: the version is asked for once, and what is read is read in
  // one transaction, which saves each statement its locks. The turn's end lets go, so that new data shows in the next.
  let turn = false;
  let reading = false;
  let version = dataVersion.get() as number;

  function openTurn(): void {
    turn = true;
    setImmediate(closeTurn);
  }

  function closeTurn(): void {
    turn = false;
    reading = false;
    if (!db.open || !db.inTransaction) return;
    try {
      commit.run();
    } catch {
      // In a damaged file even this fails; whoever read in it was told so.
      if (db.inTransaction) rollback.run();
    }
  }

  function read(statement: Database.Statement, ...what: string[]): Buffer | undefined {
    if (!turn) openTurn();
    if (!reading) begin.run();
    reading = true;
    return statement.get(...what) as Buffer | undefined;
  }

  return {
    version() {
      if (!turn) {
        openTurn();
        version = dataVersion.get() as number;
      }
      return version;
    },
    profile: (family, userKey) => read(profile, family, userKey),
    items: (family, userKey, collection) => read(items, collection, family, userKey),
    counts: () => countRecords(db),
    records: () => allRecords(db),
    events: { swaps: 0, refusals: 0 },
    fault() {
      try {
        refuseUnfit(db, path);
        profile.get('microblog', '');
        return undefined;
      } catch (error) {
        return error instanceof StoreError ? error.message : sentence(path, error);
      }
    },
    close() {
      db.close();
    },
  };
}

export function countRecords(db: Connection): Counts {
  const count = { profile: counter(db, 'profiles'), item: counter(db, 'item_keys') };
  return Object.fromEntries(
    KIND_NAMES.map((kind) => [
      kind,
      ('owner' in KINDS[kind] ? count.item : count.profile).get(KINDS[kind].family) as number,
    ]),
  ) as Counts;
}

const counter = (db: Connection, table: 'profiles' | 'item_keys') =>
  db.prepare(`SELECT count(*) FROM ${table} WHERE family = ?`).pluck();

function* allRecords(db: Connection): Generator<string> {
  yield* db
    .prepare('SELECT record FROM profiles ORDER BY family, user_key')
    .pluck()
    .iterate() as Iterable<string>;
  yield* db
    .prepare(
      `SELECT items.record FROM profiles CROSS JOIN items ON items.${itemsBehind('profiles.place')}
       ORDER BY profiles.family, profiles.id, items.place`,
    )
    .pluck()
    .iterate() as Iterable<string>;
}
