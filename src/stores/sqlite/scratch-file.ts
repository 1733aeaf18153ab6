// A scratch file for data of one run that is too large for memory.
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { withSentences } from './connect.ts';

export type SqliteFile = Database.Database;

/** A file beside another one. It has no name any more once it is open. */
export function openScratch(beside: string): SqliteFile {
  const path = `${beside}-scratch-${randomUUID()}`;
  return withSentences(path, () => {
    const db = new Database(path);
    // Nothing in it outlives the run.
    db.pragma('journal_mode = OFF');
    db.pragma('synchronous = OFF');
    db.pragma('locking_mode = EXCLUSIVE');
    db.exec('CREATE TABLE opened (n INTEGER)');
    rmSync(path, { force: true });
    // Never committed: what does not fit into the cache is in the file all the same.
    db.exec('BEGIN');
    return db;
  });
}
