// What is remembered of a live site between two visits: what was held of each user, and how far a visit has come.
import Database from 'better-sqlite3';
import { withSentences } from '../stores/sqlite/connect.ts';
import { StoreError } from '../stores/store.ts';

/** 'VITN': says whose a file is. */
const APPLICATION_ID = 0x5649544e;
/** An unfinished visit that is older than this is begun anew. */
const STALE_AFTER = '-1 day';

const TABLES = `
  CREATE TABLE IF NOT EXISTS visits (site TEXT PRIMARY KEY, id INTEGER NOT NULL, begun TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS users (
    site TEXT NOT NULL, user_key TEXT NOT NULL, visit INTEGER NOT NULL, known INTEGER NOT NULL, held TEXT,
    PRIMARY KEY (site, user_key)
  ) WITHOUT ROWID;`;

export interface Note<Held> {
  readonly userKey: string;
  /** Whether the site knows the user. */
  readonly known: boolean;
  /** What a later visit needs; absent when it has to begin from nothing. */
  readonly held?: Held | undefined;
  /** Whether this very visit has been there. */
  readonly done: boolean;
}

export type Notes<Held> = ReturnType<typeof openNotes<Held>>;

export function openNotes<Held>(path: string, site: string, { anew = false } = {}) {
  return withSentences(path, () => {
    const db = new Database(path, { timeout: 10_000 });
    try {
      refuseForeign(db, path);
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.exec(TABLES);
      return notesOf<Held>(db, path, site, anew);
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

function refuseForeign(db: Database.Database, path: string): void {
  const owner = db.pragma('application_id', { simple: true }) as number;
  const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number;
  if (owner !== APPLICATION_ID && (owner !== 0 || tables > 0))
    throw new StoreError(`${path} does not hold the state of a mirror: name another file.`);
}

function notesOf<Held>(db: Database.Database, path: string, site: string, anew: boolean) {
  const visit = db
    .transaction(() => {
      const open = db
        .prepare("SELECT id FROM visits WHERE site = ? AND begun > datetime('now', ?)")
        .pluck()
        .get(site, STALE_AFTER);
      if (open !== undefined && !anew) return { id: open as number, goesOn: true };
      const id =
        1 +
        (db.prepare('SELECT coalesce(max(visit), 0) FROM users WHERE site = ?').pluck().get(site) as number);
      db.prepare("INSERT OR REPLACE INTO visits VALUES (?, ?, datetime('now'))").run(site, id);
      return { id, goesOn: false };
    })
    .immediate();
  const select = db.prepare('SELECT visit, known, held FROM users WHERE site = ? AND user_key = ?');
  const put = db.prepare('INSERT OR REPLACE INTO users VALUES (?, ?, ?, ?, ?)');

  return {
    /** Whether an unfinished visit is taken up. */
    goesOn: visit.goesOn,

    get(userKey: string): Note<Held> | undefined {
      const row = select.get(site, userKey) as
        | { visit: number; known: number; held: string | null }
        | undefined;
      if (row === undefined) return undefined;
      const held = row.held === null ? undefined : (JSON.parse(row.held) as Held);
      return { userKey, known: row.known === 1, held, done: visit.goesOn && row.visit === visit.id };
    },

    /** All of them, or none. */
    save(notes: readonly Pick<Note<Held>, 'userKey' | 'known' | 'held'>[]): void {
      withSentences(path, () =>
        db.transaction(() => {
          for (const { userKey, known, held } of notes)
            put.run(site, userKey, visit.id, known ? 1 : 0, held === undefined ? null : JSON.stringify(held));
        })(),
      );
    },

    /** Those whom this visit asked for in vain. */
    unknown(): string[] {
      return db
        .prepare('SELECT user_key FROM users WHERE site = ? AND visit = ? AND known = 0')
        .pluck()
        .all(site, visit.id) as string[];
    },

    /** The visit is over: the next one begins anew. */
    finish(): void {
      db.prepare('DELETE FROM visits WHERE site = ?').run(site);
    },

    close(): void {
      db.close();
    },
  };
}
