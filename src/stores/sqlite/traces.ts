// What is left of deleted data in a file. With `secure_delete`, SQLite overwrites what it deletes, but leaves copies of rows that
// it moves (gaps.ts). Each change sweeps the pages that it has written, so a takedown need not look through the whole file. What
// could not be swept is noted: then the next takedown sweeps all.

import { statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorCode, errorMessage } from '../../records/thrown.ts';
import type { ShareListener, StepListener } from '../steps.ts';
import type { OpenDatabase } from './connect.ts';
import { eraseGaps } from './gaps.ts';
import { attemptAll, emptyLog, readLoggedPages } from './log.ts';
import { createPageSet } from './page-set.ts';

/** A change whose pages are not swept yet. */
export interface UnsweptChange {
  readonly number: number | bigint;
  /** Differs from the one before if another process has written. */
  readonly dataVersion: unknown;
}

const dataVersion = (db: OpenDatabase) => db.pragma('data_version', { simple: true });

/** Notes, in the transaction of a change, that its pages are to be swept. */
export const noteChange = (db: OpenDatabase): UnsweptChange => ({
  number: db.prepare('INSERT INTO unswept DEFAULT VALUES').run().lastInsertRowid,
  dataVersion: dataVersion(db),
});

/** Moves what the log holds into the file, and sweeps the pages of a change that was committed just now. If it cannot, it stays noted. */
export function sweepChange(db: OpenDatabase, path: string, change: UnsweptChange): void {
  attemptAll(db, () => {
    const pages = attemptAll(db, () => readLoggedPages(db, path));
    // Another process may have emptied the log before it was read here.
    const isComplete = pages !== undefined && dataVersion(db) === change.dataVersion;
    if (!emptyLog(db) || !isComplete) return;
    for (let page: number | undefined = 1; page !== undefined; ) {
      const next = eraseGaps(db, path, pages, page);
      // Another process writes: it does not wait for this one.
      if (next === page && !emptyLog(db)) return;
      page = next;
    }
    db.prepare('DELETE FROM unswept WHERE n = ?').run(change.number);
    emptyLog(db);
  });
}

const BUSY = 'another process, such as an export, is reading it, or the disk is full';

/** Overwrites what is left of deleted data. If that is not possible, a sentence says what stays, and why. */
export async function eraseTraces(
  db: OpenDatabase,
  path: string,
  onShare: ShareListener = () => {},
): Promise<string | undefined> {
  try {
    const isSwept = isSweptThroughout(db) || (await sweepAll(db, path, onShare));
    return isSwept ? undefined : `${path} still holds deleted data in unused space: ${BUSY}.`;
  } catch (error) {
    return `${path} still holds deleted data in unused space: ${errorMessage(error)}.`;
  }
}
const schemaVersion = (db: OpenDatabase) => Number(db.pragma('schema_version', { simple: true }));

const SWEPT_SCHEMA = 'SELECT swept_schema FROM vitrine WHERE NOT EXISTS (SELECT 1 FROM unswept)';

const isSweptThroughout = (db: OpenDatabase) => db.prepare(SWEPT_SCHEMA).pluck().get() === schemaVersion(db);

/** False if the log cannot be emptied. */
async function sweepAll(db: OpenDatabase, path: string, onShare: ShareListener): Promise<boolean> {
  const schema = schemaVersion(db);
  // A change that is made from now on sweeps what it writes.
  const last = db.prepare('SELECT max(n) FROM unswept').pluck().get();
  const pages = createPageSet(Number(db.pragma('page_count', { simple: true })));
  pages.addAll();
  for (let page: number | undefined = 1; page !== undefined; ) {
    // Until the log is in the file, it holds pages as they were.
    if (!emptyLog(db)) return false;
    page = eraseGaps(db, path, pages, page);
    onShare(page === undefined ? 1 : page / pages.count);
    await nextTurn();
  }
  db.transaction(() => {
    db.prepare('DELETE FROM unswept WHERE n <= ?').run(last);
    db.prepare('UPDATE vitrine SET swept_schema = ?').run(schema);
  }).immediate();
  emptyLog(db);
  return true;
}

const HOLDS_TRACES = 'SELECT holds_traces FROM vitrine';

/** Undefined unless a version before 1.3 has written the file, or if that cannot be read: what was done before is done. */
export function describeTraces(db: OpenDatabase, path: string): string | undefined {
  try {
    if (db.prepare(HOLDS_TRACES).pluck().get() !== 1) return undefined;
    return `${path} was written by a version before 1.3, which left deleted data in unused space: \`vitrine migrate --compact\` erases that once and for all.`;
  } catch {
    return undefined;
  }
}

/** Writes the whole file anew, without its unused space. */
export async function compact(
  db: OpenDatabase,
  path: string,
  onStep: StepListener,
): Promise<string | undefined> {
  onStep('writing the file anew', { bytes: statSync(path).size });
  const reason = rewrite(db);
  if (reason !== undefined) return `${path} could not be written anew: ${reason}.`;
  const left = await eraseTraces(db, path, (share) =>
    onStep(`erasing deleted data: ${Math.floor(share * 100)}%`),
  );
  if (left === undefined) db.exec('UPDATE vitrine SET holds_traces = 0');
  emptyLog(db);
  return left;
}

/** Why it was not possible. */
function rewrite(db: OpenDatabase): string | undefined {
  try {
    db.exec('VACUUM');
    return undefined;
  } catch (error) {
    const [code, message] = [errorCode(error), errorMessage(error)];
    if (code.startsWith('SQLITE_FULL')) return 'this needs twice as much free disk space as the file has';
    if (code.startsWith('SQLITE_BUSY')) return 'another process is writing it';
    return message;
  }
}
