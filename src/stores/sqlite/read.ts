// The reading side of SQLite: each lookup is one statement that returns an ETag and the bytes to send.
import type { Statement } from 'better-sqlite3';
import type { Family } from '../../records/kinds.ts';
import { takedownKey } from '../../records/user-name.ts';
import { type Archive, createArchive } from '../archive.ts';
import { selectHistory } from '../history-statements.ts';
import { MEDIA_URL } from '../media-statements.ts';
import { type Gzip, gzipList, gzipText } from '../packing.ts';
import {
  type Answer,
  importTime,
  type LookupOptions,
  type PersonAnswers,
  type Reader,
  type UserEntry,
} from '../reader.ts';
import { type Connection, openForReading } from './connect.ts';
import { readCounts, storeConnection } from './dialect.ts';
import { describeErrors, toStoreError } from './errors.ts';
import { refuseUnfit } from './migrate.ts';

export interface SqliteReader extends Reader {
  takedownHashes(): string[];
}

export function openReader(source: string | Buffer): SqliteReader {
  const name = typeof source === 'string' ? source : 'the sample data';
  const db = openForReading(source, name);
  try {
    return createReader(db, name);
  } catch (error) {
    db.close();
    throw toStoreError(name, error);
  }
}

// With positional parameters, a lookup takes a quarter less CPU: what the client knows, the name of a list, the family, the
// key. The ETag and the packed list stand before the text in a row: the text's pages are read only where it is sent.
const find = (table: string, text: string, packed: string) => `
  SELECT etag, ${packed} IS NOT NULL, CASE WHEN instr(?, etag) THEN NULL ELSE coalesce(${packed}, CAST(${text} AS BLOB)) END
  FROM ${table} WHERE family = ? AND user_key = ?`;
const RECORD = 'coalesce(served, record)';
const LIST = `'{"' || ? || '":' || items || '}'`;
const FIRST_USERS = `
  SELECT record ->> 'username' FROM profiles WHERE family = ? ORDER BY id LIMIT ?`;

const USERS = `
  SELECT user_key AS key, record ->> 'username' AS username, coalesce(served, record) AS profile FROM profiles
  WHERE family = ? AND user_key > ? ORDER BY user_key LIMIT ? OFFSET ?`;

const TAKEN_DOWN = `
  SELECT 1 FROM takedown_salts CROSS JOIN takedowns
  WHERE hash = takedown_hash(salt, ?, 'name', ?)`;

function createReader(db: Connection, path: string): SqliteReader {
  const takedowns = db.prepare('SELECT hash FROM takedowns').pluck();
  const generation = db.prepare('SELECT generation FROM vitrine').pluck();
  const lastRun = db.prepare('SELECT last_run FROM vitrine').pluck();
  const mediaUrl = db.prepare(MEDIA_URL).pluck();
  const lookups = createLookups(db);
  return {
    ...lookups,
    ...createListings(db, lookups.profile),
    version: () => generation.get() as number,
    lastImport: () => importTime(generation.get() as number),
    lastImportRun: () => importTime(lastRun.get() as number),
    takedownHashes: () => takedowns.all() as string[],
    mediaUrl: () => mediaUrl.get() as string | undefined,
    counts: () => readCounts(db),
    fault() {
      try {
        refuseUnfit(db, path);
        lookups.profile('microblog', '');
        return undefined;
      } catch (error) {
        return toStoreError(path, error).message;
      }
    },
    close() {
      db.close();
    },
  };
}

function createLookups(db: Connection) {
  const plainProfile = db.prepare(find('profiles', RECORD, 'NULL')).raw();
  const packedProfile = db.prepare(find('profiles', RECORD, 'packed')).raw();
  const plainItems = db.prepare(find('lists', LIST, 'NULL')).raw();
  const packedItems = db.prepare(find('lists', LIST, 'packed')).raw();
  const takenDown = db.prepare(TAKEN_DOWN);
  const beginRead = createTurn(db);

  function read(statement: Statement, values: string[], gzip: Gzip): Answer | undefined {
    beginRead();
    const row = statement.get(values) as [string, 0 | 1, Buffer | null] | undefined;
    if (row === undefined) return undefined;
    const [etag, isPacked, body] = row;
    return isPacked === 0 ? { etag, body } : { etag, body: body && gzip(body), isGzip: true };
  }

  const profile = (family: Family, userKey: string, { known = '', gzip = false }: LookupOptions = {}) =>
    read(gzip ? packedProfile : plainProfile, [known, family, userKey], gzipText);

  const items = (
    family: Family,
    userKey: string,
    collection: string,
    { known = '', gzip = false }: LookupOptions = {},
  ) => read(gzip ? packedItems : plainItems, [known, collection, family, userKey], gzipList(collection));

  return {
    profile,
    items,
    person(family: Family, userKey: string, collection: string, known?: string): PersonAnswers | undefined {
      const own = profile(family, userKey, { known });
      const list = items(family, userKey, collection, { known });
      return own && list && [own, list];
    },
    isTakenDown: (family: Family, userKey: string) =>
      takenDown.get(family, takedownKey(userKey)) !== undefined,
  };
}

function createListings(
  db: Connection,
  findProfile: ReturnType<typeof createLookups>['profile'],
): Pick<SqliteReader, 'firstUsers' | 'users' | 'history'> {
  const firstUsers = db.prepare(FIRST_USERS).pluck();
  const users = db.prepare(USERS);
  const { member } = storeConnection(db);
  const histories = {
    microblog: db.prepare(selectHistory('microblog', member)).pluck(),
    portfolio: db.prepare(selectHistory('portfolio', member)).pluck(),
  };
  return {
    firstUsers: (family, count) => firstUsers.all(family, count) as string[],
    users: (family, { after = '', skip = 0, limit }) => users.all(family, after, limit, skip) as UserEntry[],
    history(family, userKey, { from = '', limit }) {
      // It begins the transaction in which the items are read as well.
      const profile = findProfile(family, userKey);
      if (profile === undefined) return undefined;
      return { profile, records: histories[family].all({ 1: userKey, 2: from, 3: limit }) as string[] };
    },
  };
}

/**
 * Begins the transaction that reads of one turn of the event loop share, which spares each of them its locks (3 to 5 µs a
 * lookup, npm run bench). The turn's end closes it, so the next turn sees new data.
 */
function createTurn(db: Connection): () => void {
  const begin = db.prepare('BEGIN');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  let open = false;

  function end(): void {
    open = false;
    if (!db.open || !db.inTransaction) return;
    try {
      commit.run();
    } catch {
      // In a damaged file even this fails. The lookup that met the damage has reported it.
      if (db.inTransaction) rollback.run();
    }
  }

  return () => {
    if (open) return;
    begin.run();
    open = true;
    setImmediate(end);
  };
}

/** Opens a file to read everything in it. */
export function openArchive(path: string): Archive {
  const db = openForReading(path, path);
  // One transaction, so that all of it is of one moment.
  describeErrors(path, () => db.exec('BEGIN'));
  return createArchive(storeConnection(db), {
    toStoreError: (error) => toStoreError(path, error),
    findDamage: () => describeErrors(path, () => findDamage(db)),
    close() {
      db.close();
    },
  });
}

const findDamage = (db: Connection) =>
  (db.pragma('integrity_check(20)') as { integrity_check: string }[])
    .map((row) => row.integrity_check)
    .filter((line) => line !== 'ok');
