// An errand, a worker's where it takes long: looks at a database file, and says whether it is sound and what it holds.
import { statSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type Counts, StoreError } from '../store.ts';
import { type Connection, openForReading, withSentences } from './connect.ts';
import { countRecords } from './read.ts';

export interface Errand {
  readonly path: string;
  /** What the file is called in a sentence. */
  readonly name: string;
  /** Whether its end is there; whether all that it holds is in order as well, for which it is read; how much it holds. */
  readonly want: 'wholeness' | 'soundness' | 'counts';
}

export interface Finding {
  readonly fault?: string;
  readonly counts?: Counts;
}

export function inspect(errand: Errand): Promise<Finding> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: errand });
    const failed = (reason: string) => resolve({ fault: `${errand.name} could not be checked: ${reason}` });
    worker.once('message', resolve);
    worker.once('error', (error) => failed(String(error)));
    worker.once('exit', () => failed('the check ended early'));
    worker.unref();
  });
}

/** The errand itself, wherever it is run. */
export function run({ path, name, want }: Errand): Finding {
  try {
    return withSentences(name, () => {
      const db = openForReading(path, name);
      try {
        if (want === 'counts') return { counts: countRecords(db) };
        if (endsWithinPage(path, db)) return { fault: `${name} is damaged: it ends within a page.` };
        if (want === 'wholeness') return {};
        const said = db.pragma('quick_check(1)', { simple: true }) as string;
        // Above the finding there may be a line that names the database.
        return said === 'ok' ? {} : { fault: `${name} is damaged: ${said.split('\n').at(-1)}.` };
      } finally {
        db.close();
      }
    });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return { fault: error.message };
  }
}

/** SQLite reads what a broken copy lacks of its last page as zeros, and finds nothing amiss. */
function endsWithinPage(path: string, db: Connection): boolean {
  const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  return !hasLog && statSync(path).size % (db.pragma('page_size', { simple: true }) as number) > 0;
}

if (!isMainThread) parentPort?.postMessage(run(workerData as Errand));
