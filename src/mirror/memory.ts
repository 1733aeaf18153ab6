// What the mirror remembers of a site between two runs: which users it brought, and how far an unfinished run got.
import type { Connection } from '../stores/sqlite/connect.ts';
import { describeErrors } from '../stores/sqlite/errors.ts';
import type { LastFetch } from './visit.ts';

/** An unfinished run older than this is not resumed. */
const RESUMABLE = '-1 day';

export interface Note {
  /** The id under which the mirror brought the user; absent when it did not. */
  readonly id?: string;
  /** Absent when the next visit has to fetch everything. */
  readonly lastFetch?: LastFetch;
  /** Whether this run, or the one it resumes, has visited the user already. */
  readonly done: boolean;
}

export interface NewNote {
  readonly userKey: string;
  /** Whether the site knows the user. */
  readonly known: boolean;
  /** The id of a user that the mirror has just brought. */
  readonly id?: string | undefined;
  readonly lastFetch?: LastFetch | undefined;
}

export interface BroughtUser {
  readonly userKey: string;
  readonly id: string;
}

export interface NotedUser {
  readonly userKey: string;
  readonly id: string | null;
}

export type MirrorMemory = ReturnType<typeof createMemory>;

export function createMemory(db: Connection, site: string, restart: boolean) {
  const run = db.transaction(() => beginRun(db, site, restart)).immediate();
  const statements = prepareStatements(db);
  const loading = createLoadingUsers(db, site);

  return {
    loading,

    get(userKey: string): Note {
      const row = statements.get.get(site, userKey) as NoteRow | undefined;
      return row === undefined ? { done: false } : noteOf(row, run);
    },

    /** Whether the mirror brought a user of this name and id. */
    brought: (userKey: string, id: string) => statements.brought.get(site, userKey, id) !== undefined,

    /** The user that this run found under an id. */
    holderOf: (id: string) => statements.holder.get(site, id, run.id) as string | undefined,

    /** Notes what was done: all of it, or nothing. */
    save(notes: readonly NewNote[]): void {
      describeErrors(db.name, () =>
        db.transaction(() => {
          loading.clear();
          for (const { userKey, known, id, lastFetch } of notes) {
            const last = lastFetch === undefined ? null : JSON.stringify(lastFetch);
            statements.put.run(site, userKey, run.id, Number(known), id ?? null, last);
          }
        })(),
      );
    },

    anyoneKnown: () =>
      db.prepare('SELECT 1 FROM users WHERE site = ? AND visit = ? AND known').get(site, run.id) !==
      undefined,

    /** Users that the mirror brought and that the site did not know in this run: the next ones after a key. */
    gone: (after: string) => statements.gone.all(site, run.id, after) as BroughtUser[],

    countGone: () => statements.countGone.get(site, run.id) as number,

    /** A user who was removed here does not belong to the mirror any more. */
    forget(userKey: string): void {
      db.prepare('UPDATE users SET id = NULL, last_fetch = NULL WHERE site = ? AND user_key = ?').run(
        site,
        userKey,
      );
    },

    /** Erases the users to whom this applies, so that their names are not in the file any more. */
    erase(applies: (user: NotedUser) => boolean): void {
      const found: string[] = [];
      for (const user of statements.all.iterate(site, site) as Iterable<NotedUser>)
        if (applies(user)) found.push(user.userKey);
      if (found.length > 0) eraseUsers(db, site, found);
    },

    /** The run is complete: the next one starts from the first user. */
    finish(): void {
      db.prepare('DELETE FROM visits WHERE site = ?').run(site);
    },
  };
}

function prepareStatements(db: Connection) {
  const get = db.prepare('SELECT visit, id, last_fetch FROM users WHERE site = ? AND user_key = ?');
  const brought = db.prepare('SELECT 1 FROM users WHERE site = ? AND user_key = ? AND id = ?');
  const holder = db
    .prepare('SELECT user_key FROM users WHERE site = ? AND id = ? AND visit = ? AND known')
    .pluck();
  // A user whom the site does not know any more is still one that the mirror brought.
  const put = db.prepare(`
    INSERT INTO users (site, user_key, visit, known, id, last_fetch) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET
      visit = excluded.visit, known = excluded.known, id = coalesce(excluded.id, id), last_fetch = excluded.last_fetch`);
  const gone = db.prepare(`
    SELECT user_key AS userKey, id FROM users
    WHERE site = ? AND visit = ? AND NOT known AND id IS NOT NULL AND user_key > ? ORDER BY user_key LIMIT 1000`);
  const countGone = db
    .prepare('SELECT count(*) FROM users WHERE site = ? AND visit = ? AND NOT known AND id IS NOT NULL')
    .pluck();
  const all = db.prepare(`
    SELECT user_key AS userKey, id FROM users WHERE site = ?
    UNION ALL SELECT user_key, id FROM loading WHERE site = ?`);
  return { get, brought, holder, put, gone, countGone, all };
}

interface NoteRow {
  readonly visit: number;
  readonly id: string | null;
  readonly last_fetch: string | null;
}

const noteOf = ({ visit, id, last_fetch: lastFetch }: NoteRow, run: Run): Note => ({
  id: id ?? undefined,
  lastFetch: lastFetch === null ? undefined : JSON.parse(lastFetch),
  done: run.resumed && visit === run.id,
});

function eraseUsers(db: Connection, site: string, userKeys: readonly string[]): void {
  const statements = ['users', 'loading'].map((table) =>
    db.prepare(`DELETE FROM ${table} WHERE site = ? AND user_key = ?`),
  );
  describeErrors(db.name, () => {
    db.transaction(() => {
      for (const userKey of userKeys) for (const statement of statements) statement.run(site, userKey);
    })();
    db.exec('VACUUM');
  });
}

/** The users of the batch that is being loaded. If a run is killed then, they may be in the store but not in the notes. */
function createLoadingUsers(db: Connection, site: string) {
  const insert = db.prepare('INSERT INTO loading VALUES (?, ?, ?)');
  const clear = db.prepare('DELETE FROM loading WHERE site = ?');
  const recover = db.prepare(`
    INSERT INTO users (site, user_key, visit, known, id) VALUES (?, ?, 0, 1, ?)
    ON CONFLICT DO UPDATE SET id = excluded.id`);

  return {
    clear: () => clear.run(site),

    begin(users: readonly BroughtUser[]): void {
      describeErrors(db.name, () =>
        db.transaction(() => {
          for (const { userKey, id } of users) insert.run(site, userKey, id);
        })(),
      );
    },

    /** The users that a killed run was loading. */
    interrupted: () =>
      db.prepare('SELECT user_key AS userKey, id FROM loading WHERE site = ?').all(site) as BroughtUser[],

    /** Notes that the mirror brought those of them that are in the store. */
    recover(users: readonly BroughtUser[]): void {
      db.transaction(() => {
        for (const { userKey, id } of users) recover.run(site, userKey, id);
        clear.run(site);
      })();
    },
  };
}

interface Run {
  readonly id: number;
  readonly resumed: boolean;
}

/** Resumes an unfinished run, or begins a new one. */
function beginRun(db: Connection, site: string, restart: boolean): Run {
  const unfinished = db
    .prepare("SELECT id FROM visits WHERE site = ? AND begun > datetime('now', ?)")
    .pluck()
    .get(site, RESUMABLE) as number | undefined;
  if (unfinished !== undefined && !restart) return { id: unfinished, resumed: true };
  const latest = db.prepare('SELECT coalesce(max(visit), 0) FROM users WHERE site = ?').pluck().get(site);
  const id = (latest as number) + 1;
  db.prepare("INSERT OR REPLACE INTO visits VALUES (?, ?, datetime('now'))").run(site, id);
  return { id, resumed: false };
}
