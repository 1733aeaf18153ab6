// Looks at a whole database file: whether it is sound, or how many records it holds. Both read much, so a worker thread
// does it; only the check before a server's start runs in the main thread.
import { statSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type Counts, NoDataError, StoreError } from '../store.ts';
import { type Connection, openForReading, refuseUnimported, withSentences } from './connect.ts';
import { countRecords } from './read.ts';

export interface Inspection {
  readonly path: string;
  /** `end`: whether the file ends where it should. `soundness`: whether all of it is in order. */
  readonly want: 'end' | 'soundness' | 'counts';
}

export interface Finding {
  readonly fault?: string;
  /** Whether the fault may go away without another file: too many open files, say. */
  readonly passing?: boolean;
  /** Whether the fault is that there is nothing to serve yet. */
  readonly noData?: boolean;
  readonly counts?: Counts;
}

/** Inspects a file in a thread of its own. */
export function inspectAside(inspection: Inspection): Promise<Finding> {
  return new Promise((resolve) => {
    const failed = (reason: unknown) =>
      resolve({ fault: `${inspection.path} could not be checked: ${reason}.`, passing: true });
    const worker = new Worker(new URL(import.meta.url), { workerData: inspection });
    worker.once('message', resolve);
    worker.once('error', (error) => failed(error.message));
    worker.once('exit', () => failed('the check ended early'));
    worker.unref();
  });
}

const PASSING = /^SQLITE_(CANTOPEN|BUSY|READONLY|IOERR)/;

export function inspect({ path, want }: Inspection): Finding {
  try {
    return withSentences(path, () => {
      const db = openForReading(path, path);
      try {
        if (want === 'counts') return { counts: countRecords(db) };
        refuseUnimported(db, path);
        return endsWithinPage(path, db)
          ? { fault: `${path} is damaged: it ends within a page.` }
          : quickCheck(path, db, want);
      } finally {
        db.close();
      }
    });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return {
      fault: error.message,
      passing: PASSING.test((error.cause as { code?: string })?.code ?? ''),
      noData: error instanceof NoDataError,
    };
  }
}

function quickCheck(path: string, db: Connection, want: Inspection['want']): Finding {
  if (want === 'end') return {};
  const result = db.pragma('quick_check(1)', { simple: true }) as string;
  // The line above the finding may name the database.
  return result === 'ok' ? {} : { fault: `${path} is damaged: ${result.split('\n').at(-1)}.` };
}

/** SQLite reads what a broken copy lacks of its last page as zeros, and finds no fault. */
function endsWithinPage(path: string, db: Connection): boolean {
  const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  return !hasLog && statSync(path).size % (db.pragma('page_size', { simple: true }) as number) > 0;
}

if (!isMainThread) parentPort?.postMessage(inspect(workerData as Inspection));
