// The reading side of SQLite: each lookup is one statement that returns an ETag and the bytes to send.

import type { Statement } from 'better-sqlite3';
import { type Family, findKind } from '../../records/kinds.ts';
import { takedownKey } from '../../records/user-name.ts';
import {
  type Answer,
  type Counts,
  type History,
  type ItemSize,
  importTime,
  type LookupOptions,
  MOST_BYTES,
  type Reader,
  type ShotEntry,
  type UserEntry,
} from '../reader.ts';
import { type Archive, createArchive } from '../sql/archive.ts';
import { countsFrom, KEPT_COUNTS } from '../sql/counts.ts';
import {
  forEachSide,
  NEWEST_COLUMNS,
  perFamily,
  type Side,
  selectHistory,
  selectItem,
} from '../sql/history-statements.ts';
import {
  type FactsRow,
  factsByFile,
  MEDIA_URL,
  type MemberSql,
  SERVED_PROFILE,
  servedAddress,
  servedRecord,
} from '../sql/media-statements.ts';
import { answerWith, unpackedSize } from '../sql/packing.ts';
import { NEWEST_MARK } from '../sql/takedowns.ts';
import { LAST, selectFound } from '../sql/word-statements.ts';
import { findDamage, type OpenDatabase, openForReading } from './connect.ts';
import { sqlAdapter } from './dialect.ts';
import { describeErrors, toStoreError } from './errors.ts';
import { refuseUnfit } from './migrate.ts';

export interface SqliteReader extends Reader {
  counts(): Counts;
  /** Undefined where nothing was taken down. */
  newestMark(): string | undefined;
  /** Whether all takedowns of the database with this newest mark are in force here. */
  hasMark(mark: string): boolean;
  /**
   * Holds what is read now, or lets it go. If another file has taken the path, the next transaction would read that file's
   * log: so this one is held.
   */
  hold(isHeld: boolean): void;
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

// With positional parameters, a lookup takes a quarter less CPU: what the client knows, the family, the key, the list's name.
const find = (table: string, isPacked: string, body: string) => `
  SELECT etag, ${isPacked}, CASE WHEN instr(?, etag) THEN NULL ELSE ${body} END
  FROM ${table} WHERE family = ? AND user_key = ?`;
const PROFILE = `CAST(${SERVED_PROFILE} AS BLOB)`;
const FIND_PROFILE = find('profiles', '0', PROFILE);
const FIND_LIST = `${find('lists', "body < x'20'", 'body')} AND collection = ?`;

// `+?` and `? + 0`: SQLite looks at the value of a bare `LIMIT ?`, or of `family = ?` where rows are ordered or tables joined,
// to plan, and so plans anew for each call: 5 to 20 µs.
const NEWEST = `
  SELECT profiles.etag, ${PROFILE}, lists.etag, ${NEWEST_COLUMNS}
  FROM profiles CROSS JOIN lists
  WHERE profiles.family = +? AND profiles.user_key = +?
    AND lists.family = profiles.family AND lists.user_key = profiles.user_key AND collection = +?`;
type NewestRow = [string, Buffer, string, Buffer | null, 0 | 1, 0 | 1];

const FIRST_USERS = `
  SELECT record ->> 'username' FROM profiles WHERE family = +? ORDER BY id LIMIT ? + 0`;

const ENTRY = `
  SELECT user_key AS key, record ->> 'username' AS username, etag, substr(record ->> 'name', 1, 300) AS name,
    substr(record ->> 'bio', 1, 300) AS bio, ${SERVED_PROFILE} ->> 'avatar' AS avatar`;
const usersBy = (isIn: string, order: string) => `${ENTRY} FROM profiles
  WHERE family = +? AND user_key ${isIn} ? ORDER BY user_key ${order} LIMIT ? + 0 OFFSET ? + 0`;
const SEARCH = `${ENTRY} FROM (${selectFound(['+?1', '?2', '?3', '?4 + 0'])}) AS found CROSS JOIN profiles
  WHERE profiles.family = +?1 AND profiles.id = found.id ORDER BY word, found.id`;

const NEWEST_SHOTS = `
  SELECT value AS key, items.record ->> 'id' AS id, substr(items.record ->> 'title', 1, 300) AS title,
    ${servedAddress("(items.record ->> 'image')")} AS image,
    ${servedAddress("(items.record ->> 'large_image')")} AS large_image
  FROM json_each(?) CROSS JOIN profiles ON profiles.family = 'portfolio' AND profiles.user_key = value
  CROSS JOIN items ON items.n IN (
    SELECT n FROM items AS own WHERE own.family = 'portfolio' AND own.owner = profiles.id
    ORDER BY own.date DESC, own.id DESC LIMIT ? + 0)
  ORDER BY items.date DESC, items.id DESC`;

const PICTURES = `
  SELECT file, width, height, color, small FROM copies
  WHERE file IN (SELECT value FROM json_each(?)) AND width IS NOT NULL`;

const TAKEN_DOWN = `
  SELECT 1 FROM takedown_salts CROSS JOIN takedowns
  WHERE hash = takedown_hash(salt, ?, 'name', ?)`;

function createReader(db: OpenDatabase, path: string): SqliteReader {
  const newestMark = db.prepare<[], string>(NEWEST_MARK).pluck();
  const hasMark = db.prepare('SELECT 1 FROM takedown_marks WHERE mark = ?');
  const counts = db.prepare<[], [kind: string, count: number]>(KEPT_COUNTS).raw();
  const generation = db.prepare<[], number>('SELECT generation FROM vitrine').pluck();
  const lastRun = db.prepare<[], number>('SELECT last_run FROM vitrine').pluck();
  const mediaUrl = db.prepare<[], string>(MEDIA_URL).pluck();
  const pictures = db.prepare<[string], FactsRow>(PICTURES);
  const { beginRead, hold } = shareTransaction(db);
  const lookups = prepareLookups(db, beginRead);
  return {
    ...lookups,
    ...createUserLists(db, beginRead),
    ...createItemLists(db, beginRead, lookups.profile),
    version: () => generation.get() ?? 0,
    lastImport: () => importTime(generation.get() ?? 0),
    lastImportRun: () => importTime(lastRun.get() ?? 0),
    newestMark: () => newestMark.get(),
    hasMark: (mark) => hasMark.get(mark) !== undefined,
    hold(isHeld) {
      hold(isHeld);
      // A transaction begins with its first read.
      if (isHeld) generation.get();
    },
    mediaUrl: () => mediaUrl.get(),
    pictures: (files) => factsByFile(pictures.all(JSON.stringify(files))),
    counts: () => countsFrom(counts.all()),
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

type AnswerRow = [etag: string, isPacked: 0 | 1, body: Buffer | null];

function prepareLookups(db: OpenDatabase, beginRead: () => void) {
  const found = db.prepare<string[], AnswerRow>(FIND_PROFILE).raw();
  const list = db.prepare<string[], AnswerRow>(FIND_LIST).raw();
  const takenDown = db.prepare(TAKEN_DOWN);

  function read(
    statement: Statement<string[], AnswerRow>,
    values: string[],
    gzip: boolean,
  ): Answer | undefined {
    beginRead();
    const row = statement.get(...values);
    if (row === undefined) return undefined;
    const [etag, isPacked, body] = row;
    return answerWith(etag, body, isPacked === 1, gzip);
  }

  const profile = (family: Family, userKey: string, { known = '' }: LookupOptions = {}) =>
    read(found, [known, family, userKey], false);

  const items = (
    family: Family,
    userKey: string,
    collection: string,
    { known = '', gzip = false }: LookupOptions = {},
  ) => read(list, [known, family, userKey, collection], gzip);

  return {
    profile,
    items,
    isTakenDown: (family: Family, userKey: string) =>
      takenDown.get(family, takedownKey(userKey)) !== undefined,
  };
}

function buildNewest([etag, body, listEtag, list, hasMore, hasCopies]: NewestRow) {
  const fits = list !== null && unpackedSize(list) <= MOST_BYTES;
  return {
    profile: { etag, body },
    list: { etag: listEtag, body: fits ? list : null },
    hasMore: hasMore === 1,
    hasCopies: hasCopies === 1,
  };
}

function createUserLists(
  db: OpenDatabase,
  beginRead: () => void,
): Pick<SqliteReader, 'firstUsers' | 'users' | 'search' | 'newestShots'> {
  type UsersOf = [family: Family, from: string, limit: number, skip: number];
  const firstUsers = db.prepare<[Family, number], string>(FIRST_USERS).pluck();
  const users = db.prepare<UsersOf, UserEntry>(usersBy('>', 'ASC'));
  const usersBefore = db.prepare<UsersOf, UserEntry>(usersBy('<=', 'DESC'));
  const search = db.prepare<object, UserEntry>(SEARCH);
  const newestShots = db.prepare<[string, number], ShotEntry>(NEWEST_SHOTS);
  return {
    firstUsers: (family, count) => firstUsers.all(family, count),
    users(family, { after = '', upTo, skip = 0, limit }) {
      beginRead();
      const statement = upTo === undefined ? users : usersBefore;
      return statement.all(family, upTo ?? after, limit, skip);
    },
    search(family, key, limit) {
      beginRead();
      return search.all({ 1: family, 2: key, 3: key + LAST, 4: limit });
    },
    newestShots(userKeys, each) {
      beginRead();
      return newestShots.all(JSON.stringify(userKeys), each);
    },
  };
}

/** The items of a user, each time with the profile. */
function createItemLists(
  db: OpenDatabase,
  beginRead: () => void,
  findProfile: ReturnType<typeof prepareLookups>['profile'],
): Pick<SqliteReader, 'newest' | 'item' | 'history' | 'historySizes'> {
  const newest = db.prepare<[Family, string, string], NewestRow>(NEWEST).raw();
  const adapter = sqlAdapter(db);
  const item = perFamily((family) => db.prepare<object, ItemRow>(selectItem(family, adapter)).raw());
  const { plain, served, sizes } = prepareHistories(db, adapter.member);
  const mediaUrl = db.prepare(MEDIA_URL);
  return {
    newest(family, userKey, collection) {
      beginRead();
      const row = newest.get(family, userKey, collection);
      return row === undefined ? undefined : buildNewest(row);
    },
    item(family, userKey, id) {
      beginRead();
      const row = item[family].get({ 1: userKey, 2: id });
      if (row === undefined) return undefined;
      const [etag, body, record, older, newer] = row;
      const profile = { etag, body };
      return { profile, record: String(record), older: older ?? undefined, newer: newer ?? undefined };
    },
    history(family, userKey, { from = '', limit, skip = 0 }) {
      // In one transaction with the items.
      const profile = findProfile(family, userKey);
      if (profile === undefined) return undefined;
      const values = { 1: userKey, 2: from, 3: limit, 4: skip };
      // The statement that names copies costs three times as much, even where there are none.
      const records = mediaUrl.get() === undefined ? plain : served;
      return { profile, ...takeFitting(records[family].iterate(values)) };
    },
    historySizes(family, userKey, { from = '', limit, skip = 0, side = 'older' }) {
      beginRead();
      const values = { 1: userKey, 2: from, 3: limit, 4: skip };
      const found = sizes[family][side].all(values);
      return found.map(([id, bytes]): ItemSize => ({ id, bytes }));
    },
  };
}

/** As bytes: better-sqlite3 takes ten times as long to make a string of letters that are not Latin. */
function prepareHistories(db: OpenDatabase, member: MemberSql) {
  const prepare = <Row extends [id: string, bytes: number, record?: Buffer]>(
    family: Family,
    side: Side,
    ...columns: string[]
  ) => db.prepare<object, Row>(selectHistory(family, side, [SIZE, ...columns].join())).raw();
  return {
    plain: perFamily((family) => prepare<SizedRow>(family, 'older', 'CAST(record AS BLOB)')),
    served: perFamily((family) =>
      prepare<SizedRow>(family, 'older', `CAST(${servedRecord(findKind(family, 'item'), member)} AS BLOB)`),
    ),
    sizes: forEachSide((family, side) => prepare<[id: string, bytes: number]>(family, side)),
  };
}

const SIZE = 'CAST(items.id AS TEXT) AS id, octet_length(record) AS bytes';
type ItemRow = [etag: string, profile: Buffer, record: Buffer, older: string | null, newer: string | null];
type SizedRow = [id: string, bytes: number, record: Buffer];

/** The rows up to the first one that does not fit, which is the last one read. */
function takeFitting(rows: Iterable<SizedRow>): Omit<History, 'profile'> {
  const items: { id: string; record: string }[] = [];
  let sum = 0;
  for (const [id, bytes, record] of rows) {
    sum += bytes;
    if (sum > MOST_BYTES) return { items, next: id };
    items.push({ id, record: String(record) });
  }
  return { items };
}

/**
 * Begins the transaction that reads of one turn of the event loop share, which spares each of them its locks (3 to 5 µs a
 * lookup, npm run bench). The turn's end closes it, so the next turn sees new data.
 */
function shareTransaction(db: OpenDatabase) {
  const begin = db.prepare('BEGIN');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  let open = false;
  let isHeld = false;

  function end(): void {
    if (isHeld) return;
    open = false;
    if (!db.open || !db.inTransaction) return;
    try {
      commit.run();
    } catch {
      // In a damaged file even this fails. The lookup that met the damage has reported it.
      if (db.inTransaction) rollback.run();
    }
  }

  function beginRead(): void {
    if (open) return;
    begin.run();
    open = true;
    setImmediate(end);
  }

  function hold(now: boolean): void {
    isHeld = now;
    if (isHeld) beginRead();
    else end();
  }

  return { beginRead, hold };
}

export function openArchive(path: string): Archive {
  const db = openForReading(path, path);
  // One transaction, so that all of it is of one moment.
  describeErrors(path, () => db.exec('BEGIN'));
  return createArchive(sqlAdapter(db), {
    toStoreError: (error) => toStoreError(path, error),
    findDamage: () => describeErrors(path, () => findDamage(db, 'integrity_check(20)')),
    close() {
      db.close();
    },
  });
}
