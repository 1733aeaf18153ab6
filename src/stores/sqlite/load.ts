// The side of SQLite that writes: imports and removals, each one transaction.
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Family } from '../../records/kinds.ts';
import { createStaging } from '../staging.ts';
import type { Load, LoadOptions, Writer } from '../store.ts';
import { merge } from './merge.ts';
import { itemsBehind } from './places.ts';
import { type Connection, explained, openForWriting } from './sqlite.ts';

export function openWriter(path: string): Writer {
  return writerOf(openForWriting(path), path, () => `${path}-unsorted-${randomUUID()}`);
}

/** A database in memory, to be filled and then served from its bytes. */
export function openMemory(): { writer: Writer; bytes: () => Buffer } {
  const db = openForWriting(':memory:');
  const fileName = () => join(tmpdir(), `vitrine-unsorted-${randomUUID()}`);
  return { writer: writerOf(db, 'the sample data', fileName), bytes: () => db.serialize() };
}

function writerOf(db: Connection, path: string, fileName: () => string): Writer {
  // The merge looks up owners itself, once for all items of one; and it goes through the tables in their order, where
  // a larger cache would not be hit more often.
  db.pragma('foreign_keys = OFF');
  db.pragma('cache_size = -4000');
  return {
    load: (options) => startLoad(db, path, fileName, options),
    remove: (family, userKey) => explained(path, () => remove(db, family, userKey)),
    close() {
      db.close();
    },
  };
}

function remove(db: Connection, family: Family, userKey: string): { items: number } | undefined {
  const removed = db
    .transaction(() => {
      const place = db
        .prepare('DELETE FROM profiles WHERE family = ? AND user_key = ? RETURNING place')
        .pluck()
        .get(family, userKey) as number | undefined;
      if (place === undefined) return undefined;
      const own = `FROM items WHERE ${itemsBehind('@place')}`;
      db.prepare(`DELETE FROM item_keys WHERE (family, id) IN (SELECT family, id ${own})`).run({ place });
      return { items: db.prepare(`DELETE ${own}`).run({ place }).changes };
    })
    .immediate();
  emptyLog(db);
  return removed;
}

// Rows in a site's own order would touch a page each, all over the clustered tables. So they are laid aside in the
// order in which they come, and moved over in the order in which they will lie; only that holds up other writers.
function startLoad(db: Connection, path: string, fileName: () => string, options: LoadOptions): Load {
  const staging = createStaging(fileName);
  return {
    add: (row, place) => explained(path, () => staging.add(row, place)),
    finish() {
      try {
        return explained(path, () => {
          db.exec('BEGIN IMMEDIATE');
          const tallies = merge(db, staging, options);
          db.exec(tallies === undefined ? 'ROLLBACK' : 'COMMIT');
          return tallies;
        });
      } finally {
        abandon();
      }
    },
    abandon,
  };

  function abandon(): void {
    staging.close();
    if (!db.open) return;
    if (db.inTransaction) db.exec('ROLLBACK');
    emptyLog(db);
  }
}

const LOG_WAIT_MS = 5000;

/**
 * Moves what the log holds into the file, so that the file alone is the whole, and may be copied or replaced. A reader
 * in the midst of a long look, such as an export, keeps the log from being emptied: then the next writer does it. So
 * it is where the disk is full: what was committed is safe in the log, and this must not pass for its failure.
 */
function emptyLog(db: Connection): void {
  const patience = db.pragma('busy_timeout', { simple: true });
  db.pragma(`busy_timeout = ${LOG_WAIT_MS}`);
  try {
    db.pragma('wal_checkpoint(TRUNCATE)');
  } catch (error) {
    if (!/^SQLITE_(FULL|IOERR)/.test((error as { code?: string }).code ?? '')) throw error;
  }
  db.pragma(`busy_timeout = ${patience}`);
}
