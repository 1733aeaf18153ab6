// What an operator does with a whole SQLite file: copy it, and check that it is sound.
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Counts } from '../store.ts';
import { type Connection, countRecords, explained, openForReading } from './sqlite.ts';

/** Writes a compact copy that needs no other file beside it, and puts it in place at once. */
export function snapshot(path: string, target: string): void {
  const unfinished = `${target}.unfinished`;
  rmSync(unfinished, { force: true });
  try {
    reading(path, (db) => {
      // SQLite counts the copy as a change.
      db.pragma('query_only = OFF');
      db.prepare('VACUUM INTO ?').run(unfinished);
    });
    explained(target, () => {
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

export interface CheckResult {
  readonly faults: readonly string[];
  readonly counts: Counts | undefined;
}

/** Reads the whole file: its structure, its indexes, that every item has an owner, and that every record is JSON. */
export function check(path: string): CheckResult {
  return reading(path, (db) => {
    const faults = (db.pragma('integrity_check(20)') as { integrity_check: string }[])
      .map((row) => row.integrity_check)
      .filter((line) => line !== 'ok');
    if (faults.length > 0) return { faults, counts: undefined };
    const one = (sql: string) => db.prepare(sql).pluck().get() as number;
    const ownerless = one('SELECT count(*) FROM items WHERE place >> 32 NOT IN (SELECT place FROM profiles)');
    if (ownerless > 0) faults.push(`${ownerless} items have no owner`);
    const shared = one('SELECT count(*) - count(DISTINCT place) FROM profiles');
    if (shared > 0) faults.push(`${shared} profiles stand where another does`);
    const misplaced = one(
      `SELECT count(*) FROM items LEFT JOIN item_keys USING (family, id)
         LEFT JOIN profiles ON profiles.family = items.family AND profiles.id = item_keys.owner
       WHERE item_keys.date IS NOT items.date OR profiles.place IS NOT items.place >> 32`,
    );
    if (misplaced > 0) faults.push(`${misplaced} items do not lie where their ids are looked for`);
    const keys = one('SELECT (SELECT count(*) FROM item_keys) - (SELECT count(*) FROM items)');
    if (keys !== 0) faults.push(`there are ${Math.abs(keys)} ${keys > 0 ? 'more' : 'fewer'} ids than items`);
    const disordered = one(
      `SELECT count(*) FROM (
         SELECT place, date, id, lag(place) OVER lie AS before, lag(date) OVER lie AS newer, lag(id) OVER lie AS higher
         FROM items WINDOW lie AS (ORDER BY place))
       WHERE place >> 32 = before >> 32 AND (date > newer OR (date = newer AND id >= higher))`,
    );
    if (disordered > 0) faults.push(`${disordered} items are newer than the one before`);
    for (const table of ['profiles', 'items']) {
      const broken = one(`SELECT count(*) FROM ${table} WHERE NOT json_valid(record)`);
      if (broken > 0) faults.push(`${broken} ${table} are not valid JSON`);
    }
    return { faults, counts: countRecords(db) };
  });
}

function reading<T>(path: string, action: (db: Connection) => T): T {
  return explained(path, () => {
    const db = openForReading(path, path, { tidy: true });
    try {
      return action(db);
    } finally {
      db.close();
    }
  });
}
