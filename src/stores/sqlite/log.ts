// Steps at the end of a change that the next writer does again if they fail, and what the log holds.

import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { createPageSet, type PageSet } from './page-set.ts';

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
export const attempt = (db: Database, pragma: string): unknown =>
  attemptAll(db, () => db.pragma(pragma, { simple: true }));

export function attemptAll<T>(db: Database, action: () => T): T | undefined {
  const timeout = db.pragma('busy_timeout', { simple: true });
  db.pragma(`busy_timeout = ${ATTEMPT_MS}`);
  try {
    return action();
  } catch {
    return undefined;
  } finally {
    db.pragma(`busy_timeout = ${timeout}`);
  }
}

const LOG_HEAD = 32;
const FRAME_HEAD = 24;

// SQLite follows links before it names the log.
const logPath = (path: string) => `${realpathSync(path)}-wal`;

export const logSize = (path: string): number =>
  statSync(logPath(path), { throwIfNoEntry: false })?.size ?? 0;

/** The pages that the log holds, and perhaps others that it held before; undefined if it is empty. */
export function readLoggedPages(db: Database, path: string): PageSet | undefined {
  const size = logSize(path);
  if (size <= LOG_HEAD) return undefined;
  const pages = createPageSet(Number(db.pragma('page_count', { simple: true })));
  const frame = FRAME_HEAD + Number(db.pragma('page_size', { simple: true }));
  const log = openSync(logPath(path), 'r');
  try {
    const number = Buffer.alloc(4);
    for (let at = LOG_HEAD; at < size; at += frame)
      if (readSync(log, number, 0, 4, at) === 4) pages.add(number.readUInt32BE(0));
    return pages;
  } finally {
    closeSync(log);
  }
}
