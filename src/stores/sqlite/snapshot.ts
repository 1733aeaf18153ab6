// `vitrine snapshot`: a compact copy of a file, put in place at once.
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { openForReading, withSentences } from './connect.ts';

/** The copy needs no other file beside it, so it can be served from read-only media. */
export function snapshot(path: string, target: string): void {
  const unfinished = `${target}.unfinished`;
  rmSync(unfinished, { force: true });
  try {
    withSentences(path, () => vacuumInto(path, unfinished));
    withSentences(target, () => {
      // Read-only media cannot hold a write-ahead log.
      const copy = new Database(unfinished);
      copy.pragma('journal_mode = DELETE');
      copy.close();
      const file = openSync(unfinished, 'r');
      fsyncSync(file);
      closeSync(file);
      renameSync(unfinished, target);
    });
  } finally {
    rmSync(unfinished, { force: true });
  }
}

function vacuumInto(path: string, unfinished: string): void {
  const db = openForReading(path, path);
  try {
    // SQLite counts the copy as a change.
    db.pragma('query_only = OFF');
    db.prepare('VACUUM INTO ?').run(unfinished);
  } finally {
    db.close();
  }
}
