// The state of a mirror, kept between runs in a SQLite file.
import { StoreError } from '../stores/errors.ts';
import type { Connection } from '../stores/sqlite/connect.ts';
import { describeErrors } from '../stores/sqlite/errors.ts';
import { openExclusive } from '../stores/sqlite/exclusive.ts';

/** 'VITN' marks a file as the state of a mirror. */
const APPLICATION_ID = 0x5649544e;

/** Each takes the file to the next user_version. */
const MIGRATIONS = [
  `CREATE TABLE IF NOT EXISTS visits (site TEXT PRIMARY KEY, id INTEGER NOT NULL, begun TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS users (
     site TEXT NOT NULL, user_key TEXT NOT NULL, visit INTEGER NOT NULL, known INTEGER NOT NULL, held TEXT,
     PRIMARY KEY (site, user_key)
   ) WITHOUT ROWID;`,
  // The id says that the mirror brought the user, whatever becomes of the last fetch.
  `ALTER TABLE users RENAME COLUMN held TO last_fetch;
   ALTER TABLE users ADD COLUMN id TEXT;
   UPDATE users SET id = last_fetch ->> '$.id';
   UPDATE users SET last_fetch = json_set(last_fetch, '$.localVersion', last_fetch ->> '$.ours');
   CREATE INDEX users_by_id ON users (site, id);
   CREATE TABLE loading (site TEXT NOT NULL, user_key TEXT NOT NULL, id TEXT NOT NULL);`,
  // Whom a killed run was loading.
  `ALTER TABLE users ADD COLUMN loading_id TEXT;
   INSERT INTO users (site, user_key, visit, known, loading_id) SELECT site, user_key, 0, 1, id FROM loading WHERE true
     ON CONFLICT DO UPDATE SET loading_id = excluded.loading_id;
   DROP TABLE loading;`,
];

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
      refuseOtherFiles(db, path);
      // The name of a user who was taken down in the middle of a run must not stay in a free page.
      db.pragma('secure_delete = ON');
      db.transaction(() => migrate(db)).immediate();
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

function refuseOtherFiles(db: Connection, path: string): void {
  const owner = db.pragma('application_id', { simple: true });
  const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number;
  if (owner !== APPLICATION_ID && (owner !== 0 || tables > 0))
    throw new StoreError(`${path} is not the state file of a mirror: specify another file with --state.`);
  const version = db.pragma('user_version', { simple: true }) as number;
  if (version > MIGRATIONS.length)
    throw new StoreError(
      `${path} was written by a newer version of Vitrine: specify another file with --state.`,
    );
}

function migrate(db: Connection): void {
  const version = db.pragma('user_version', { simple: true }) as number;
  for (const sql of MIGRATIONS.slice(version)) db.exec(sql);
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.pragma(`user_version = ${MIGRATIONS.length}`);
}
