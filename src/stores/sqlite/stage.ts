// The rows of an import on their way into a file: a temporary table, so that other writers are held up only while it is
// merged.

import type { Load, LoadOptions, LoadOutcome, Tallies } from '../load.ts';
import { STAGED_COLUMNS, stagedKind, WORK_TABLES } from '../merge-statements.ts';
import { importStaged } from '../writer.ts';
import type { Connection } from './connect.ts';
import { sqlAdapter } from './dialect.ts';
import { describeErrors, toStoreError } from './errors.ts';
import { APPLICATION_ID, FIRST_IMPORT_ID } from './file.ts';

const STAGED = `
  CREATE TEMP TABLE staged (
    n INTEGER PRIMARY KEY, kind INTEGER, place INTEGER, id INTEGER, user_key TEXT, words TEXT, owner INTEGER, date TEXT,
    record TEXT
  ) STRICT`;
const STAGE = `INSERT INTO staged (${STAGED_COLUMNS.join()}) VALUES (${STAGED_COLUMNS.map(() => '?').join()})`;

export function startLoad(db: Connection, path: string, options: LoadOptions): Load {
  db.exec('BEGIN');
  db.exec(STAGED);
  createWorkTables(db);
  const stage = db.prepare(STAGE);
  return {
    add({ kind, id, userKey, words, owner, date, record }, place) {
      describeErrors(path, () =>
        // A text becomes an exact integer in its column; a JavaScript number would be rounded.
        stage.run(stagedKind(kind), place, id, userKey, words, owner === '' ? null : owner, date, record),
      );
    },
    async finish(ending = 'commit') {
      let isFirst = false;
      try {
        db.exec('COMMIT');
        isFirst = ending === 'commit' && beginFirst(db);
        return await finish(db, options, ending);
      } catch (error) {
        throw toStoreError(path, error);
      } finally {
        endWork(db);
        if (isFirst) endFirst(db);
      }
    },
    abandon: () => endWork(db),
  };
}

/**
 * A first import writes into the file itself, beside a journal of a few pages: a log would be as large as the file. Readers
 * are locked out meanwhile (connect.ts) and have nothing to read anyway. False if it is not the first, or if another process
 * has the file open.
 */
function beginFirst(db: Connection): boolean {
  if (db.prepare('SELECT generation FROM vitrine').pluck().get() !== 0) return false;
  if (attempt(db, 'journal_mode = DELETE') !== 'delete') return false;
  attempt(db, `application_id = ${FIRST_IMPORT_ID}`);
  return true;
}

function endFirst(db: Connection): void {
  attempt(db, `application_id = ${APPLICATION_ID}`);
  attempt(db, 'journal_mode = WAL');
}

async function finish(
  db: Connection,
  options: LoadOptions,
  ending: LoadOutcome,
): Promise<Tallies | undefined> {
  db.exec('BEGIN IMMEDIATE');
  // A first import builds the index of ids at its end: filling it in the items' order costs a fifth of the whole.
  const isFirst = db.prepare('SELECT 1 FROM items LIMIT 1').get() === undefined;
  if (isFirst) db.exec('DROP INDEX items_by_id');
  const { tallies, commits } = await importStaged(sqlAdapter(db), options, ending);
  if (isFirst && commits) db.exec('CREATE UNIQUE INDEX items_by_id ON items (family, id)');
  db.exec(commits ? 'COMMIT' : 'ROLLBACK');
  return tallies;
}

export function createWorkTables(db: Connection): void {
  for (const [name, columns] of Object.entries(WORK_TABLES))
    db.exec(`CREATE TEMP TABLE ${name} (${columns})`);
}

/** Rolls back what was not committed. A failure is no failure of what was: it stays committed. */
export function endWork(db: Connection): void {
  if (!db.open) return;
  try {
    if (db.inTransaction) db.exec('ROLLBACK');
    for (const name of ['staged', ...Object.keys(WORK_TABLES)]) db.exec(`DROP TABLE IF EXISTS temp.${name}`);
  } catch {
    // The temporary tables end with the connection.
  }
  emptyLog(db);
}

/**
 * Moves what the log holds into the file, so that the file alone can be copied or replaced. A reader in the middle of a
 * long read, such as an export, keeps the log from being emptied: then the next writer does it. Whether it was emptied.
 */
export const emptyLog = (db: Connection) => attempt(db, 'wal_checkpoint(TRUNCATE)') === 0;

const ATTEMPT_MS = 5000;

/**
 * For what the next writer does again: undefined if others use the file, or if the disk is full or failing, which SQLite may
 * report as damage. What was committed is safe then, so this is not a failure of the import.
 */
function attempt(db: Connection, pragma: string): unknown {
  const timeout = db.pragma('busy_timeout', { simple: true });
  db.pragma(`busy_timeout = ${ATTEMPT_MS}`);
  try {
    return db.pragma(pragma, { simple: true });
  } catch {
    return undefined;
  } finally {
    db.pragma(`busy_timeout = ${timeout}`);
  }
}
