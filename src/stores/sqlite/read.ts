// The reading side of SQLite: each lookup is one statement that returns an ETag and the bytes to send.
import type { Statement } from 'better-sqlite3';
import { KIND_NAMES, KINDS } from '../../records/kinds.ts';
import { type Archive, createArchive } from '../archive.ts';
import { importTime } from '../generation.ts';
import { MEDIA_URL } from '../media-statements.ts';
import type { Answer, Counts, Reader } from '../reader.ts';
import { ALL_ENTRIES, ALL_SALTS } from '../takedown-statements.ts';
import type { TakedownList } from '../takedowns.ts';
import { takedownList } from '../takedowns.ts';
import {
  addFunctions,
  asStoreError,
  type Connection,
  mergeConnection,
  openForReading,
  refuseUnfit,
  SCHEMA_VERSION,
  withSentences,
} from './connect.ts';

export interface SqliteReader extends Reader {
  takedowns(): TakedownList;
}

export function openReader(source: string | Buffer): SqliteReader {
  const name = typeof source === 'string' ? source : 'the sample data';
  return createReader(openForReading(source, name), name);
}

// The ETag stands before the text in its row: where the client has it already, the text's pages are not read.
const PROFILE = `
  SELECT etag, CASE WHEN instr(:known, etag) THEN NULL ELSE CAST(coalesce(served, record) AS BLOB) END
  FROM profiles WHERE family = :family AND user_key = :userKey`;
const ITEMS = `
  SELECT etag, CASE WHEN instr(:known, etag) THEN NULL ELSE CAST('{"' || :collection || '":' || items || '}' AS BLOB) END
  FROM lists WHERE family = :family AND user_key = :userKey`;
const FIRST_USERS = `
  SELECT record ->> 'username' FROM profiles WHERE family = ? ORDER BY id LIMIT ?`;

const TAKEN_DOWN = `
  SELECT 1 FROM takedown_salts CROSS JOIN takedowns
  WHERE hash = takedown_hash(salt, :family, 'name', :userKey)`;

function createReader(db: Connection, path: string): SqliteReader {
  addFunctions(db);
  const profile = db.prepare(PROFILE).raw();
  const items = db.prepare(ITEMS).raw();
  const takenDown = db.prepare(TAKEN_DOWN);
  const generation = db.prepare('SELECT generation FROM vitrine').pluck();
  const mediaUrl = db.prepare(MEDIA_URL).pluck();
  const firstUsers = db.prepare(FIRST_USERS).pluck();
  const turn = createTurn(db);

  function find(statement: Statement, values: object): Answer | undefined {
    turn.begin();
    const row = statement.get(values) as [string, Buffer | null] | undefined;
    return row && { etag: row[0], body: row[1] };
  }

  return {
    version: turn.version,
    schema: SCHEMA_VERSION,
    lastImport: () => importTime(generation.get() as number),
    profile: (family, userKey, known = '') => find(profile, { family, userKey, known }),
    items: (family, userKey, collection, known = '') => find(items, { family, userKey, collection, known }),
    person(family, userKey, collection, known = '') {
      const own = find(profile, { family, userKey, known });
      const list = find(items, { family, userKey, collection, known });
      return own && list && [own, list];
    },
    isTakenDown(family, userKey) {
      turn.begin();
      return takenDown.get({ family, userKey }) !== undefined;
    },
    takedowns: () => takedownList(allRows(db, ALL_SALTS), allRows(db, ALL_ENTRIES)),
    mediaUrl: () => mediaUrl.get() as string | undefined,
    firstUsers: (family, count) => firstUsers.all(family, count) as string[],
    counts: () => countRecords(db),
    events: { swaps: 0, refusals: 0 },
    fault() {
      try {
        refuseUnfit(db, path);
        profile.get({ family: 'microblog', userKey: '', known: '' });
        return undefined;
      } catch (error) {
        return asStoreError(path, error).message;
      }
    },
    close() {
      db.close();
    },
  };
}

/**
 * Reads of one turn of the event loop share a transaction, which spares each of them its locks (3 to 5 µs a lookup,
 * npm run bench), and ask for the version once. The turn's end closes it, so the next turn sees new data.
 */
function createTurn(db: Connection) {
  const dataVersion = db.prepare('PRAGMA data_version').pluck();
  const [begin, commit, rollback] = ['BEGIN', 'COMMIT', 'ROLLBACK'].map((sql) => db.prepare(sql)) as [
    Statement,
    Statement,
    Statement,
  ];
  let open = false;
  let reading = false;
  let version = dataVersion.get() as number;

  function start(): void {
    open = true;
    setImmediate(end);
  }

  function end(): void {
    open = false;
    reading = false;
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
      if (!open) start();
      if (!reading) begin.run();
      reading = true;
    },
    version(): number {
      if (!open) {
        start();
        version = dataVersion.get() as number;
      }
      return version;
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
  withSentences(path, () => db.exec('BEGIN'));
  return createArchive(mergeConnection(db), () => void db.close());
}
