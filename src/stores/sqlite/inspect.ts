// Looks at a whole database file: whether it is sound, or how many records it holds. Both read much, so a worker thread
// does it; only the check before a server's start runs in the main thread.
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { execArgv } from 'node:process';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { StoreError } from '../errors.ts';
import type { Counts } from '../reader.ts';
import { type Connection, openForReading } from './connect.ts';
import { readCounts } from './dialect.ts';
import { describeErrors } from './errors.ts';
import { refuseUnimported } from './migrate.ts';

interface Inspection {
  readonly path: string;
  readonly want: 'soundness' | 'counts';
  /** The hashes of takedowns that must not get lost. */
  readonly takedowns?: readonly string[];
}

interface Finding {
  readonly fault?: string;
  readonly counts?: Counts;
}

/** Inspects a file in a thread of its own; throws if that is not possible now. */
export async function inspectAside(inspection: Inspection): Promise<Finding> {
  try {
    // Threads of an installed package load TypeScript by a hook, too: see installed.js.
    const worker = new Worker(new URL(import.meta.url), { workerData: inspection, execArgv });
    worker.unref();
    const [finding] = await once(worker, 'message');
    return finding;
  } catch (error) {
    const reason = (error as Error).message.replace(/\.$/, '');
    throw new StoreError(`${inspection.path} could not be checked: ${reason}.`, { cause: error });
  }
}

/** Faults that may go away without another file: too many open files, say. */
const MAY_PASS = /^SQLITE_(CANTOPEN|BUSY|READONLY|IOERR)/;

function inspect({ path, want, takedowns = [] }: Inspection): Finding {
  try {
    if (want === 'counts') return { counts: inFile(path, readCounts) };
    refuseUnsound(path, { readsThrough: true, takedowns });
    return {};
  } catch (error) {
    const { code = '' } = ((error as Error).cause ?? {}) as { code?: string };
    if (!(error instanceof StoreError) || MAY_PASS.test(code)) throw error;
    return { fault: error.message };
  }
}

interface SoundnessOptions {
  /** Whether all of the file is checked, or only that it ends where it should. */
  readonly readsThrough: boolean;
  readonly takedowns?: readonly string[];
}

/** Throws a sentence unless the file can be served. */
export function refuseUnsound(path: string, { readsThrough, takedowns = [] }: SoundnessOptions): void {
  inFile(path, (db) => {
    refuseUnimported(db, path);
    if (endsWithinPage(path, db)) throw new StoreError(`${path} is damaged: it ends within a page.`);
    const result = readsThrough ? (db.pragma('quick_check(1)', { simple: true }) as string) : 'ok';
    // The line above the finding may name the database.
    if (result !== 'ok') throw new StoreError(`${path} is damaged: ${result.split('\n').at(-1)}.`);
    refuseLostTakedowns(path, db, takedowns);
  });
}

function inFile<T>(path: string, read: (db: Connection) => T): T {
  return describeErrors(path, () => {
    using db = openForReading(path, path);
    return read(db);
  });
}

/** A file without the takedowns of the one before would bring back what they removed. */
function refuseLostTakedowns(path: string, db: Connection, takedowns: readonly string[]): void {
  if (db.prepare('SELECT 1 FROM takedowns_forgotten').get() !== undefined) return;
  const has = db.prepare('SELECT 1 FROM takedowns WHERE hash = ?');
  const lost = takedowns.filter((hash) => has.get(hash) === undefined).length;
  if (lost === 0) return;
  throw new StoreError(
    `${path} lacks ${lost} of the ${takedowns.length} hashes of takedowns that are served: before a file is put ` +
      'in place, run `vitrine takedown --from` on it with the file that it replaces.',
  );
}

/** SQLite reads what a broken copy lacks of its last page as zeros, and finds no fault. */
function endsWithinPage(path: string, db: Connection): boolean {
  const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  return !hasLog && statSync(path).size % (db.pragma('page_size', { simple: true }) as number) > 0;
}

if (!isMainThread) parentPort?.postMessage(inspect(workerData as Inspection));
