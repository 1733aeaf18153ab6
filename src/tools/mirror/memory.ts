// What a mirror remembers of a site between two runs, in a SQLite file: which users it imported, what the last visits left,
// and how far an unfinished run got.

import { errorCode, toError } from '../../records/thrown.ts';
import { StoreError } from '../../stores/errors.ts';
import { type OpenDatabase, openExclusive } from '../../stores/sqlite/connect.ts';
import { describeErrors } from '../../stores/sqlite/errors.ts';
import type { Validators } from '../remote/site-client.ts';

/** Marks a file as the state of a mirror, in this layout. */
const APPLICATION_ID = 0x5649544f;
/** Users are noted with the run that visited them last, and with the id that it found; without one the site does not know them. */
const TABLES = `
  CREATE TABLE runs (site TEXT PRIMARY KEY, begun TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE users (
    site TEXT NOT NULL, user_key TEXT NOT NULL, run TEXT NOT NULL, id TEXT, last_fetch TEXT,
    PRIMARY KEY (site, user_key)
  ) WITHOUT ROWID;
  CREATE INDEX users_by_id ON users (site, id);
  CREATE TABLE brought (
    site TEXT NOT NULL, user_key TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (site, user_key, id)
  ) WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};`;

/** Another program, such as a backup, may look into the file for a moment. */
const LOCK_WAIT_MS = 1000;

/** A run that was begun less than a day ago and has not come to its end is resumed. */
const BEGIN = `
  INSERT INTO runs VALUES (@site, strftime('%Y-%m-%d %H:%M:%f', 'now'))
  ON CONFLICT DO UPDATE SET begun = excluded.begun WHERE begun < datetime('now', '-1 day')`;

/** What the last visit to a user left, so that the next one can ask for changes only. */
export interface LastFetch {
  readonly id: string;
  readonly profile: Validators;
  readonly items: Validators;
  /** The version of our copy after it. If that has changed since, "not modified" does not describe our copy. */
  readonly localVersion: string;
}

interface User {
  readonly userKey: string;
  readonly id: string;
}

interface Note {
  readonly userKey: string;
  /** Absent if the site does not know the user. */
  readonly id: string | undefined;
  /** Absent when the next visit has to fetch everything. */
  readonly lastFetch: LastFetch | undefined;
}

export type MirrorMemory = ReturnType<typeof createMemory>;

export function createMemory(path: string, site: string) {
  const { db, run } = openState(path, site);
  const change = (sql: string, ...values: string[]) => void db.prepare(sql).run(...values);
  const use: Access['use'] = (action) => describeStateErrors(path, action);
  const write = (action: () => void) => use(() => db.transaction(action)());

  return {
    ...createUserNotes(db, site, run, { use, write }),

    /** Users that the mirror imported and that the site did not know in this run. */
    gone: () =>
      use(() =>
        db
          .prepare<[string, string], string>(`
            SELECT DISTINCT user_key FROM users JOIN brought USING (site, user_key)
            WHERE site = ? AND run = ? AND users.id IS NULL ORDER BY user_key`)
          .pluck()
          .all(site, run),
      ),

    /** A user who was removed here does not belong to the mirror any more. */
    forget: (userKey: string) =>
      write(() => change('DELETE FROM brought WHERE site = ? AND user_key = ?', site, userKey)),

    /** Erases the users that this applies to, so that their names are not in the file any more. */
    erase(applies: (user: User) => boolean): void {
      const all = db.prepare<object, User>(`
        SELECT user_key AS userKey, coalesce(id, '') AS id FROM users WHERE site = @site
        UNION SELECT user_key, id FROM brought WHERE site = @site`);
      const found: string[] = [];
      use(() => {
        for (const user of all.iterate({ site })) if (applies(user)) found.push(user.userKey);
      });
      if (found.length === 0) return;
      write(() => {
        for (const userKey of found)
          for (const table of ['users', 'brought'])
            change(`DELETE FROM ${table} WHERE site = ? AND user_key = ?`, site, userKey);
      });
      // Where SQLite moved rows to other pages, copies of them stay, also with `secure_delete`.
      use(() => db.exec('VACUUM'));
    },

    /** The run is complete: the next one starts from the first user. */
    finish: () => write(() => change('DELETE FROM runs WHERE site = ?', site)),

    [Symbol.dispose]: () => void db.close(),
  };
}

/** Runs what touches the file, so that its errors say what to do. */
interface Access {
  readonly use: <T>(action: () => T) => T;
  /** In a transaction. */
  readonly write: (action: () => void) => void;
}

function createUserNotes(db: OpenDatabase, site: string, run: string, { use, write }: Access) {
  const select = <Row>(what: string, where: string) =>
    db.prepare<string[], Row>(`SELECT ${what} WHERE site = ? AND ${where}`);
  const ofUser = select<{ run: string; lastFetch: string | null }>(
    'run, last_fetch AS lastFetch FROM users',
    'user_key = ?',
  );
  const imported = select('1 FROM brought', 'user_key = ? AND id = ?');
  const holder = select<string>('user_key FROM users', 'run = ? AND id = ?').pluck();
  const known = select('1 FROM users', 'run = ? AND id IS NOT NULL');
  const reserve = db.prepare('INSERT OR IGNORE INTO brought VALUES (?, ?, ?)');
  const release = db.prepare('DELETE FROM brought WHERE site = ? AND user_key = ? AND id = ?');
  const put = db.prepare('INSERT OR REPLACE INTO users VALUES (?, ?, ?, ?, ?)');
  const forgetOthers = db.prepare('DELETE FROM brought WHERE site = ? AND user_key = ? AND id <> ?');
  let reserved: readonly User[] = [];

  return {
    /** What the last visit left, and whether it was in this run. */
    get(userKey: string): { readonly lastFetch?: LastFetch; readonly done: boolean } {
      const row = use(() => ofUser.get(site, userKey));
      const lastFetch = JSON.parse(row?.lastFetch ?? 'null') ?? undefined;
      return { lastFetch, done: row?.run === run };
    },

    /** Whether the mirror imported a user of this name and id. */
    importedByMirror: (userKey: string, id: string) =>
      use(() => imported.get(site, userKey, id)) !== undefined,

    /** The user that this run found under an id. */
    findHolder: (id: string) => use(() => holder.get(site, run, id)),

    isAnyUserKnown: () => use(() => known.get(site, run)) !== undefined,

    /** Notes the users of the next load: if the run is killed during it, they still count as imported by the mirror. */
    reserve: (users: readonly User[]) =>
      write(() => {
        reserved = users.filter(({ userKey, id }) => reserve.run(site, userKey, id).changes > 0);
      }),

    /** Notes what was done: all of it, or nothing. A reserved user that is not noted was not loaded. */
    save: (notes: readonly Note[]) =>
      write(() => {
        const noted = new Set(notes.map(({ userKey }) => userKey));
        for (const { userKey, id } of reserved) if (!noted.has(userKey)) release.run(site, userKey, id);
        for (const { userKey, id = null, lastFetch } of notes) {
          const last = lastFetch === undefined ? null : JSON.stringify(lastFetch);
          put.run(site, userKey, run, id, last);
          if (id !== null) forgetOthers.run(site, userKey, id);
        }
      }),
  };
}

/** Opens the file for one run: a second one would resume it while it goes on. */
function openState(path: string, site: string): { readonly db: OpenDatabase; readonly run: string } {
  return describeStateErrors(path, () => {
    const db = openExclusive(path, LOCK_WAIT_MS);
    if (db === undefined)
      throw new StoreError(
        `another mirror is using ${path}: wait until it has ended, or give this one a state file of its own with --state`,
      );
    try {
      // The name of a user that was taken down in the middle of a run must not stay in a free page.
      db.pragma('secure_delete = ON');
      const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get();
      if (tables === 0) db.transaction(() => db.exec(TABLES))();
      if (db.pragma('application_id', { simple: true }) !== APPLICATION_ID)
        throw new StoreError(notState(path));
      db.prepare(BEGIN).run({ site });
      const run =
        db.prepare<[string], string>('SELECT begun FROM runs WHERE site = ?').pluck().get(site) ?? '';
      return { db, run };
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

const notState = (path: string) =>
  `${path} is not the state file of a mirror by this version: name another file with --state; --adopt takes over its users`;

/** `vitrine check` and a restore are for databases. What this file knows, the next run finds out. */
function describeStateErrors<T>(path: string, action: () => T): T {
  try {
    return describeErrors(path, action);
  } catch (error) {
    const code = errorCode(toError(error).cause);
    if (code === 'SQLITE_NOTADB') throw new StoreError(notState(path), { cause: error });
    if (!code.startsWith('SQLITE_CORRUPT')) throw error;
    throw new StoreError(
      `${path}, in which this mirror notes its users, is damaged: move it away and run the command with --adopt.`,
      { cause: error },
    );
  }
}

/** Writes notes that may fail after what they tell of is done. Returns why they could not be written. */
export function tryNote(note: () => void): string | undefined {
  try {
    note();
    return undefined;
  } catch (error) {
    if (error instanceof StoreError) return error.message;
    throw error;
  }
}
