// Steps at the end of a change that the next writer does again if they fail.

import { realpathSync, statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';

/**
 * Moves what the log holds into the file, so that the file alone can be copied or replaced. A reader in the middle of a
 * long read, such as an export, keeps the log from being emptied: then the next writer does it. Whether it was emptied.
 */
export const emptyLog = (db: Database) => attempt(db, 'wal_checkpoint(TRUNCATE)') === 0;

const ATTEMPT_MS = 5000;

/**
 * For what the next writer does again: undefined if others use the file, or if the disk is full or failing, which SQLite may
 * report as damage. What was committed is safe then, so this is not a failure of the import.
 */
export function attempt(db: Database, pragma: string): unknown {
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

/** SQLite follows links before it names the log. */
export const logSize = (path: string): number =>
  statSync(`${realpathSync(path)}-wal`, { throwIfNoEntry: false })?.size ?? 0;
