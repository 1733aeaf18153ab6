// What is left of deleted data in a file. With `secure_delete`, SQLite overwrites what it deletes, but leaves copies of rows that
// it moves (gaps.ts). A takedown sweeps all pages at its end.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorCode, errorMessage } from '../../records/thrown.ts';
import { noStep, type StepListener } from '../steps.ts';
import type { OpenDatabase } from './connect.ts';
import { eraseGaps } from './gaps.ts';
import { emptyLog } from './log.ts';

const BUSY = 'another process, such as an export, is reading it, or the disk is full';

/** Overwrites what is left of deleted data. If that is not possible, a sentence says what stays, and why. */
export async function eraseTraces(
  db: OpenDatabase,
  path: string,
  onStep = noStep,
): Promise<string | undefined> {
  try {
    const isSwept = await sweep(db, path, onStep);
    return isSwept ? undefined : `${path} still holds deleted data in unused space: ${BUSY}.`;
  } catch (error) {
    return `${path} still holds deleted data in unused space: ${errorMessage(error)}.`;
  }
}

/** In slices, which let other writers in between. False if the log cannot be emptied. */
async function sweep(db: OpenDatabase, path: string, onStep: StepListener): Promise<boolean> {
  const pages = Number(db.pragma('page_count', { simple: true }));
  for (let page: number | undefined = 1; page !== undefined; await nextTurn()) {
    // Until the log is in the file, it holds pages as they were.
    if (!emptyLog(db)) return false;
    page = eraseGaps(db, path, page);
    onStep('erasing deleted data', page === undefined ? 1 : Math.min(page / pages, 1));
  }
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
  onStep('writing the file anew');
  const reason = rewrite(db);
  if (reason !== undefined) return `${path} could not be written anew: ${reason}.`;
  const left = await eraseTraces(db, path, onStep);
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
