// Looks at a whole database file: whether it is sound, or how many records it holds. Both read much, so a worker thread
// does it; only the check before a server's start runs in the main thread.
import { statSync } from 'node:fs';
import { execArgv } from 'node:process';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { NoDataError, StoreError } from '../errors.ts';
import type { Counts } from '../reader.ts';
import { type Connection, openForReading } from './connect.ts';
import { readCounts } from './dialect.ts';
import { describeErrors } from './errors.ts';
import { refuseUnimported } from './migrate.ts';

interface Inspection {
  readonly path: string;
  /** `end`: whether the file ends where it should. `soundness`: whether all of it is in order. */
  readonly want: 'end' | 'soundness' | 'counts';
  /** The hashes of takedowns that must not get lost. */
  readonly takedowns?: readonly string[];
}

export interface Finding {
  readonly fault?: string;
  /** Whether the fault may go away without another file: too many open files, say. */
  readonly mayPass?: boolean;
  /** Whether the fault is that there is nothing to serve yet. */
  readonly noData?: boolean;
  readonly counts?: Counts;
}

/** Inspects a file in a thread of its own. */
export function inspectAside(inspection: Inspection): Promise<Finding> {
  return new Promise((resolve) => {
    const failed = (reason: unknown) =>
      resolve({ fault: `${inspection.path} could not be checked: ${reason}.`, mayPass: true });
    try {
      // Threads of an installed package load TypeScript by a hook, too: see installed.js.
      const worker = new Worker(new URL(import.meta.url), { workerData: inspection, execArgv });
      worker.once('message', resolve);
      worker.once('error', (error) => failed(error.message));
      worker.once('exit', () => failed('the check ended early'));
      worker.unref();
    } catch (error) {
      // There may be no thread to be had.
      failed((error as Error).message);
    }
  });
}

const MAY_PASS = /^SQLITE_(CANTOPEN|BUSY|READONLY|IOERR)/;

export function inspect({ path, want, takedowns = [] }: Inspection): Finding {
  try {
    return describeErrors(path, () => {
      const db = openForReading(path, path);
      try {
        if (want === 'counts') return { counts: readCounts(db) };
        refuseUnimported(db, path);
        if (endsWithinPage(path, db)) return { fault: `${path} is damaged: it ends within a page.` };
        const fault = quickCheck(path, db, want) ?? lostTakedowns(path, db, takedowns);
        return fault === undefined ? {} : { fault };
      } finally {
        db.close();
      }
    });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return {
      fault: error.message,
      mayPass: MAY_PASS.test((error.cause as { code?: string })?.code ?? ''),
      noData: error instanceof NoDataError,
    };
  }
}

function quickCheck(path: string, db: Connection, want: Inspection['want']): string | undefined {
  if (want === 'end') return undefined;
  const result = db.pragma('quick_check(1)', { simple: true }) as string;
  // The line above the finding may name the database.
  return result === 'ok' ? undefined : `${path} is damaged: ${result.split('\n').at(-1)}.`;
}

/** A file without the takedowns of the one before would bring back what they removed. */
function lostTakedowns(path: string, db: Connection, takedowns: readonly string[]): string | undefined {
  if (db.prepare('SELECT 1 FROM takedowns_forgotten').get() !== undefined) return undefined;
  const lost = countLost(db, takedowns);
  if (lost === 0) return undefined;
  return (
    `${path} lacks ${lost} of the ${takedowns.length} hashes of takedowns that are served: before a file is put ` +
    'in place, run `vitrine takedown --from` on it with the file that it replaces.'
  );
}

function countLost(db: Connection, takedowns: readonly string[]): number {
  const has = db.prepare('SELECT 1 FROM takedowns WHERE hash = ?');
  return takedowns.filter((hash) => has.get(hash) === undefined).length;
}

/** SQLite reads what a broken copy lacks of its last page as zeros, and finds no fault. */
function endsWithinPage(path: string, db: Connection): boolean {
  const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  return !hasLog && statSync(path).size % (db.pragma('page_size', { simple: true }) as number) > 0;
}

if (!isMainThread) parentPort?.postMessage(inspect(workerData as Inspection));
