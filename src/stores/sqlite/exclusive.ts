// A SQLite file that one process has for itself. The system frees the lock when the process ends, however it ends, and
// the lock holds between containers that share the file.
import Database from 'better-sqlite3';
import type { Connection } from './connect.ts';
import { describeErrors } from './errors.ts';

/** Opens the file, created if it is missing; undefined if another connection still has it after the wait. */
export function openExclusive(path: string, waitMs: number): Connection | undefined {
  return describeErrors(path, () => {
    const db = new Database(path, { timeout: waitMs });
    try {
      db.pragma('locking_mode = EXCLUSIVE');
      db.exec('BEGIN EXCLUSIVE; COMMIT');
      return db;
    } catch (error) {
      db.close();
      if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
      return undefined;
    }
  });
}
