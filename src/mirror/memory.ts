// What the mirror remembers of a site between two runs: which users it brought, and how far an unfinished run got.
import type { Validators } from '../remote/site-client.ts';
import type { Connection } from '../stores/sqlite/connect.ts';
import { describeErrors } from '../stores/sqlite/errors.ts';
import { openState } from './state-file.ts';

/** An unfinished run older than this is not resumed. */
const RESUMABLE = '-1 day';

/** What the last visit to a user left, so that the next one can ask for changes only. */
export interface LastFetch {
  readonly id: string;
  readonly profile: Validators;
  readonly items: Validators;
  /** The version of our copy after it. If that has changed since, "not modified" does not describe our copy. */
  readonly localVersion: string;
  /** How the bodies were read; absent if as they were. */
  readonly reading?: string;
}

interface Note {
  /** Absent when the next visit has to fetch everything. */
  readonly lastFetch?: LastFetch;
  /** Whether this run, or the one it resumes, has visited the user already. */
  readonly done: boolean;
}

interface NewNote {
  readonly userKey: string;
  /** Whether the site knows the user. */
  readonly known: boolean;
  /** The id of a user that the mirror has just brought. */
  readonly id?: string | undefined;
  readonly lastFetch?: LastFetch | undefined;
}

interface BroughtUser {
  readonly userKey: string;
  readonly id: string;
}

const SQL = {
  get: 'SELECT visit, last_fetch AS lastFetch FROM users WHERE site = ? AND user_key = ?',
  brought: 'SELECT 1 FROM users WHERE site = ? AND user_key = ? AND ? IN (id, loading_id)',
  holder: 'SELECT user_key FROM users WHERE site = ? AND id = ? AND visit = ? AND known',
  beginLoading: `
    INSERT INTO users (site, user_key, visit, known, loading_id) VALUES (?, ?, 0, 1, ?)
    ON CONFLICT DO UPDATE SET loading_id = excluded.loading_id`,
  endLoading: 'UPDATE users SET loading_id = NULL WHERE site = ? AND user_key = ?',
  // A user whom the site does not know any more is still one that the mirror brought.
  put: `
    INSERT INTO users (site, user_key, visit, known, id, last_fetch) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET
      visit = excluded.visit, known = excluded.known, id = coalesce(excluded.id, id), last_fetch = excluded.last_fetch`,
  anyoneKnown: 'SELECT 1 FROM users WHERE site = ? AND visit = ? AND known',
  gone: `
    SELECT user_key FROM users
    WHERE site = ? AND visit = ? AND NOT known AND coalesce(id, loading_id) IS NOT NULL ORDER BY user_key`,
  forget: 'UPDATE users SET id = NULL, loading_id = NULL, last_fetch = NULL WHERE site = ? AND user_key = ?',
  all: `
    SELECT user_key AS userKey, coalesce(id, '') AS id FROM users WHERE site = @site
    UNION ALL SELECT user_key, loading_id FROM users WHERE site = @site AND loading_id IS NOT NULL`,
  erase: 'DELETE FROM users WHERE site = ? AND user_key = ?',
  unfinished: "SELECT id FROM visits WHERE site = ? AND begun > datetime('now', ?)",
  latest: 'SELECT coalesce(max(visit), 0) FROM users WHERE site = ?',
  begin: "INSERT OR REPLACE INTO visits VALUES (?, ?, datetime('now'))",
  finish: 'DELETE FROM visits WHERE site = ?',
};

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(db: Connection) {
  const prepare = (sql: string) => db.prepare(sql);
  const prepared = Object.entries(SQL).map(([name, sql]) => [name, prepare(sql)]);
  return Object.fromEntries(prepared) as Record<keyof typeof SQL, ReturnType<typeof prepare>>;
}

export type MirrorMemory = ReturnType<typeof createMemory>;

export function createMemory(path: string, site: string, restart: boolean) {
  const db = openState(path);
  const statements = prepareStatements(db);
  const run = db.transaction(() => beginRun(statements, site, restart)).immediate();
  const write = (action: () => void) => describeErrors(path, () => db.transaction(action)());

  return {
    ...createUserNotes(site, run, statements, write),

    anyoneKnown: () => statements.anyoneKnown.get(site, run.id) !== undefined,

    /** Users that the mirror brought and that the site did not know in this run. */
    gone: () => statements.gone.pluck().all(site, run.id) as string[],

    /** A user who was removed here does not belong to the mirror any more. */
    forget: (userKey: string) => void statements.forget.run(site, userKey),

    /** Erases the users to whom this applies, so that their names are not in the file any more. */
    erase(applies: (user: BroughtUser) => boolean): void {
      const found: string[] = [];
      for (const user of statements.all.iterate({ site }) as Iterable<BroughtUser>)
        if (applies(user)) found.push(user.userKey);
      if (found.length === 0) return;
      write(() => {
        for (const userKey of found) statements.erase.run(site, userKey);
      });
      describeErrors(path, () => db.exec('VACUUM'));
    },

    /** The run is complete: the next one starts from the first user. */
    finish: () => void statements.finish.run(site),

    [Symbol.dispose]: () => void db.close(),
  };
}

function createUserNotes(
  site: string,
  run: Run,
  statements: Statements,
  write: (action: () => void) => void,
) {
  let loading: readonly BroughtUser[] = [];

  return {
    get(userKey: string): Note {
      const row = statements.get.get(site, userKey) as
        | { visit: number; lastFetch: string | null }
        | undefined;
      if (row === undefined) return { done: false };
      const lastFetch = row.lastFetch === null ? undefined : JSON.parse(row.lastFetch);
      return { lastFetch, done: run.resumed && row.visit === run.id };
    },

    /** Whether the mirror brought a user of this name and id. */
    brought: (userKey: string, id: string) => statements.brought.get(site, userKey, id) !== undefined,

    /** The user that this run found under an id. */
    findHolder: (id: string) => statements.holder.pluck().get(site, id, run.id) as string | undefined,

    /** Notes the users of the next load: if the run is killed during it, they still count as brought by the mirror. */
    beginLoading(users: readonly BroughtUser[]): void {
      loading = users;
      write(() => {
        for (const { userKey, id } of users) statements.beginLoading.run(site, userKey, id);
      });
    },

    /** Notes what was done: all of it, or nothing. */
    save(notes: readonly NewNote[]): void {
      write(() => {
        for (const { userKey } of loading) statements.endLoading.run(site, userKey);
        for (const { userKey, known, id, lastFetch } of notes) {
          const last = lastFetch === undefined ? null : JSON.stringify(lastFetch);
          statements.put.run(site, userKey, run.id, Number(known), id ?? null, last);
        }
      });
    },
  };
}

interface Run {
  readonly id: number;
  readonly resumed: boolean;
}

/** Resumes an unfinished run, or begins a new one. */
function beginRun({ unfinished, latest, begin }: Statements, site: string, restart: boolean): Run {
  const open = unfinished.pluck().get(site, RESUMABLE) as number | undefined;
  if (open !== undefined && !restart) return { id: open, resumed: true };
  const id = (latest.pluck().get(site) as number) + 1;
  begin.run(site, id);
  return { id, resumed: false };
}
