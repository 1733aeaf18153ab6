// The state of a mirror, kept between runs in a SQLite file.
import { StoreError } from '../stores/errors.ts';
import type { Connection } from '../stores/sqlite/connect.ts';
import { describeErrors } from '../stores/sqlite/errors.ts';
import { openExclusive } from '../stores/sqlite/exclusive.ts';

/** 'VITN' marks a file as the state of a mirror. */
const APPLICATION_ID = 0x5649544e;

/** The user_version. */
const LAYOUT = 3;
/** The id says that the mirror brought the user, whatever becomes of the last fetch; loading_id, whom a killed run was loading. */
const TABLES = `
  CREATE TABLE visits (site TEXT PRIMARY KEY, id INTEGER NOT NULL, begun TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE users (
    site TEXT NOT NULL, user_key TEXT NOT NULL, visit INTEGER NOT NULL, known INTEGER NOT NULL,
    last_fetch TEXT, id TEXT, loading_id TEXT,
    PRIMARY KEY (site, user_key)
  ) WITHOUT ROWID;
  CREATE INDEX users_by_id ON users (site, id);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${LAYOUT};`;

/** Another program, such as a backup, may look into the file for a moment. */
const LOCK_WAIT_MS = 1000;

/** Opens the file for one run: a second one would resume it while it goes on. */
export function openState(path: string): Connection {
  return describeErrors(path, () => {
    const db = openExclusive(path, LOCK_WAIT_MS);
    if (db === undefined)
      throw new StoreError(
        `another mirror is using ${path}: wait until it has ended, or give this one a state file of its own with --state`,
      );
    try {
      // The name of a user who was taken down in the middle of a run must not stay in a free page.
      db.pragma('secure_delete = ON');
      db.transaction(() => prepare(db, path)).immediate();
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

function prepare(db: Connection, path: string): void {
  const owner = db.pragma('application_id', { simple: true });
  const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number;
  if (owner === 0 && tables === 0) return void db.exec(TABLES);
  if (owner !== APPLICATION_ID)
    throw new StoreError(`${path} is not the state file of a mirror: specify another file with --state.`);
  if (db.pragma('user_version', { simple: true }) !== LAYOUT)
    throw new StoreError(
      `${path} was written by another version of Vitrine: specify another file with --state, and take its users over with --adopt.`,
    );
}
