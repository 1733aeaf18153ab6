// The rows of an import on their way into a file: a temporary table, so that other writers are held up only while it is
// merged.

import type { Load, LoadOptions, LoadOutcome, Tallies } from '../load.ts';
import { STAGED_COLUMNS, stagedKind, WORK_TABLES } from '../merge-statements.ts';
import { importStaged } from '../writer.ts';
import type { Connection } from './connect.ts';
import { storeConnection } from './dialect.ts';
import { describeErrors, toStoreError } from './errors.ts';

const STAGED = `
  CREATE TEMP TABLE staged (
    n INTEGER PRIMARY KEY, kind INTEGER, place INTEGER, id INTEGER, user_key TEXT, owner INTEGER, date TEXT,
    record TEXT
  ) STRICT`;
const STAGE = `INSERT INTO staged (${STAGED_COLUMNS.join()}) VALUES (${STAGED_COLUMNS.map(() => '?').join()})`;

export function startLoad(db: Connection, path: string, options: LoadOptions): Load {
  db.exec('BEGIN');
  db.exec(STAGED);
  createWorkTables(db);
  const stage = db.prepare(STAGE);
  return {
    add({ kind, id, userKey, owner, date, record }, place) {
      describeErrors(path, () =>
        // A text becomes an exact integer in its column; a JavaScript number would be rounded.
        stage.run(stagedKind(kind), place, id, userKey, owner === '' ? null : owner, date, record),
      );
    },
    async finish(ending = 'commit') {
      try {
        db.exec('COMMIT; BEGIN IMMEDIATE');
        return await finish(db, options, ending);
      } catch (error) {
        throw toStoreError(path, error);
      } finally {
        endWork(db);
      }
    },
    abandon: () => endWork(db),
  };
}

async function finish(
  db: Connection,
  options: LoadOptions,
  ending: LoadOutcome,
): Promise<Tallies | undefined> {
  // A first import builds the index of ids at its end: filling it in the items' order costs a fifth of the whole.
  const isFirst = db.prepare('SELECT 1 FROM items LIMIT 1').get() === undefined;
  if (isFirst) db.exec('DROP INDEX items_by_id');
  const { tallies, commits } = await importStaged(storeConnection(db), options, ending);
  if (isFirst && commits) db.exec('CREATE UNIQUE INDEX items_by_id ON items (family, id)');
  db.exec(commits ? 'COMMIT' : 'ROLLBACK');
  return tallies;
}

export function createWorkTables(db: Connection): void {
  for (const [name, columns] of Object.entries(WORK_TABLES))
    db.exec(`CREATE TEMP TABLE ${name} (${columns})`);
}

/** Rolls back what was not committed. */
export function endWork(db: Connection): void {
  if (!db.open) return;
  if (db.inTransaction) db.exec('ROLLBACK');
  for (const name of ['staged', ...Object.keys(WORK_TABLES)]) db.exec(`DROP TABLE IF EXISTS temp.${name}`);
  emptyLog(db);
}

const LOG_WAIT_MS = 5000;

/**
 * Moves what the log holds into the file, so that the file alone can be copied or replaced. A reader in the middle of a
 * long read, such as an export, keeps the log from being emptied: then the next writer does it. A full disk does so as
 * well: what was committed is safe in the log, so this is not a failure of the import. Whether it was emptied.
 */
export function emptyLog(db: Connection): boolean {
  const timeout = db.pragma('busy_timeout', { simple: true });
  db.pragma(`busy_timeout = ${LOG_WAIT_MS}`);
  try {
    return db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0;
  } catch (error) {
    if (!/^SQLITE_(FULL|IOERR)/.test((error as { code?: string }).code ?? '')) throw error;
    return false;
  } finally {
    db.pragma(`busy_timeout = ${timeout}`);
  }
}
