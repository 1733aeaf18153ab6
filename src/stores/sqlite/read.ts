// The reading side of SQLite: each lookup is one statement that returns an ETag and the bytes to send.
import type { Statement } from 'better-sqlite3';
import { type Family, KIND_NAMES, KINDS } from '../../records/kinds.ts';
import { takedownKey } from '../../records/user-name.ts';
import { type Archive, createArchive } from '../archive.ts';
import { importTime } from '../generation.ts';
import { historyOf } from '../history-statements.ts';
import { MEDIA_URL } from '../media-statements.ts';
import { type Gzip, gzipList, gzipText } from '../packing.ts';
import type { Answer, Counts, ListedUser, LookupOptions, Reader } from '../reader.ts';
import { ALL_ENTRIES, ALL_SALTS } from '../takedown-statements.ts';
import type { TakedownList } from '../takedowns.ts';
import { takedownList } from '../takedowns.ts';
import { addFunctions, type Connection, mergeConnection, openForReading } from './connect.ts';
import { describeErrors, toStoreError } from './errors.ts';
import { refuseUnfit, SCHEMA_VERSION } from './migrate.ts';

export interface SqliteReader extends Reader {
  takedowns(): TakedownList;
  /** Changes with each commit of others, also where no answer changes. */
  dataVersion(): number;
  /** Changes when answers do. */
  generation(): number;
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
  SELECT user_key AS key, coalesce(served, record) AS record FROM profiles
  WHERE family = ? AND user_key > ? ORDER BY user_key LIMIT ? OFFSET ?`;

const TAKEN_DOWN = `
  SELECT 1 FROM takedown_salts CROSS JOIN takedowns
  WHERE hash IN (takedown_hash(salt, :family, 'name', :userKey), takedown_hash(salt, :family, 'name', :forTakedowns))`;

function createReader(db: Connection, path: string): SqliteReader {
  addFunctions(db);
  const profile = db.prepare(find('profiles', RECORD, 'NULL')).raw();
  const packedProfile = db.prepare(find('profiles', RECORD, 'packed')).raw();
  const items = db.prepare(find('lists', LIST, 'NULL')).raw();
  const packedItems = db.prepare(find('lists', LIST, 'packed')).raw();
  const takenDown = db.prepare(TAKEN_DOWN);
  const generation = db.prepare('SELECT generation FROM vitrine').pluck();
  const lastRun = db.prepare('SELECT last_run FROM vitrine').pluck();
  const mediaUrl = db.prepare(MEDIA_URL).pluck();
  const firstUsers = db.prepare(FIRST_USERS).pluck();
  const turn = createTurn(db);

  function read(statement: Statement, values: string[], gzip: Gzip): Answer | undefined {
    turn.begin();
    const row = statement.get(values) as [string, 0 | 1, Buffer | null] | undefined;
    if (row === undefined) return undefined;
    const [etag, isPacked, body] = row;
    return isPacked === 0 ? { etag, body } : { etag, body: body && gzip(body), isGzip: true };
  }

  const readProfile = (family: Family, userKey: string, { known = '', gzip = false }: LookupOptions = {}) =>
    read(gzip ? packedProfile : profile, [known, family, userKey], gzipText);

  function readItems(
    family: Family,
    userKey: string,
    collection: string,
    { known = '', gzip = false }: LookupOptions = {},
  ): Answer | undefined {
    return read(gzip ? packedItems : items, [known, collection, family, userKey], gzipList(collection));
  }

  let known = { dataVersion: Number.NaN, generation: 0 };
  /** Read again only after a commit. */
  function currentGeneration(): number {
    const dataVersion = turn.dataVersion();
    if (dataVersion !== known.dataVersion) known = { dataVersion, generation: generation.get() as number };
    return known.generation;
  }

  return {
    version: currentGeneration,
    generation: currentGeneration,
    dataVersion: turn.dataVersion,
    schema: SCHEMA_VERSION,
    lastImport: () => importTime(generation.get() as number),
    lastImportRun: () => importTime(lastRun.get() as number),
    profile: readProfile,
    items: readItems,
    person(family, userKey, collection, known) {
      const own = readProfile(family, userKey, { known });
      const list = readItems(family, userKey, collection, { known });
      return own && list && [own, list];
    },
    isTakenDown(family, userKey) {
      turn.begin();
      return takenDown.get({ family, userKey, forTakedowns: takedownKey(userKey) }) !== undefined;
    },
    takedowns: () => takedownList(allRows(db, ALL_SALTS), allRows(db, ALL_ENTRIES)),
    mediaUrl: () => mediaUrl.get() as string | undefined,
    firstUsers: (family, count) => firstUsers.all(family, count) as string[],
    ...createListings(db),
    counts: () => countRecords(db),
    events: { swaps: 0, refusals: 0 },
    fault() {
      try {
        refuseUnfit(db, path);
        profile.get('', 'microblog', '');
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

function createListings(db: Connection): Pick<SqliteReader, 'users' | 'history'> {
  const users = db.prepare(USERS);
  const { member } = mergeConnection(db);
  const histories = {
    microblog: db.prepare(historyOf('microblog', member)).raw(),
    portfolio: db.prepare(historyOf('portfolio', member)).raw(),
  };
  return {
    users: (family, { after = '', skip = 0, limit }) => users.all(family, after, limit, skip) as ListedUser[],
    history(family, userKey, { from = '', limit }) {
      const rows = histories[family].all({ 1: userKey, 2: from, 3: limit }) as [number, string][];
      return { count: rows[0]?.[0] ?? 0, records: rows.map(([, record]) => record) };
    },
  };
}

/**
 * Reads of one turn of the event loop share a transaction, which spares each of them its locks (3 to 5 µs a lookup,
 * npm run bench), and ask for the version once. The turn's end closes it, so the next turn sees new data.
 */
function createTurn(db: Connection) {
  const begin = db.prepare('BEGIN');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  const readDataVersion = db.prepare('PRAGMA data_version').pluck();
  let open = false;
  let reading = false;
  let dataVersion: number | undefined;

  function start(): void {
    if (!open) setImmediate(end);
    open = true;
  }

  function end(): void {
    open = false;
    reading = false;
    dataVersion = undefined;
    if (!db.open || !db.inTransaction) return;
    try {
      commit.run();
    } catch {
      // In a damaged file even this fails. The lookup that met the damage has reported it.
      if (db.inTransaction) rollback.run();
    }
  }

  return {
    begin(): void {
      start();
      if (!reading) begin.run();
      reading = true;
    },

    /** SQLite's number, which changes with each commit of others. */
    dataVersion(): number {
      start();
      dataVersion ??= readDataVersion.get() as number;
      return dataVersion;
    },
  };
}

export function countRecords(db: Connection): Counts {
  const counter = (table: string) => db.prepare(`SELECT count(*) FROM ${table} WHERE family = ?`).pluck();
  const [profiles, items] = [counter('profiles'), counter('items')];
  return Object.fromEntries(
    KIND_NAMES.map((kind) => {
      const { family, role } = KINDS[kind];
      return [kind, (role === 'item' ? items : profiles).get(family) as number];
    }),
  ) as Counts;
}

const allRows = (db: Connection, sql: string) => db.prepare(sql).raw().all() as string[][];

/** Opens a file to read everything in it. */
export function openArchive(path: string): Archive {
  const db = openForReading(path, path);
  addFunctions(db);
  // One transaction, so that all of it is of one moment.
  describeErrors(path, () => db.exec('BEGIN'));
  return createArchive(mergeConnection(db), () => void db.close());
}
