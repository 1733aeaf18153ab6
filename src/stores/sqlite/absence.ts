// Until the first import has committed there is nothing to serve. The file is looked at again when it has changed.
import { statSync } from 'node:fs';
import { NoDataError, StoreError } from '../errors.ts';
import type { StoreListener } from '../reader.ts';
import { toStoreError } from './errors.ts';
import { readStats, refuseForeignLog, signature } from './file.ts';
import { inspect } from './inspect.ts';
import { openReader, type SqliteReader } from './read.ts';

/** Bytes: up to this size a file is read through before it is served; no start waits for a larger one. */
const READ_THROUGH = 2 ** 20;

export type Absence = ReturnType<typeof createAbsence>;

export function createAbsence(path: string, observe: StoreListener) {
  /** Why there is nothing to serve: the same error while the reason is the same. */
  let fault: StoreError | undefined;
  /** Of the files that were looked at. */
  let seen = '';

  return {
    fault: () => fault,
    hasChanged: () => signature(readStats(path)) !== seen,

    /** A reader, if there is something to serve. At the start, it fails unless waiting for an import helps. */
    look({ isStart = false } = {}): SqliteReader | undefined {
      seen = signature(readStats(path));
      try {
        return openChecked(path);
      } catch (error) {
        const found = toStoreError(path, error);
        if (isStart && !(found instanceof NoDataError)) throw found;
        // A reason is logged once, however often the file is looked at.
        if (found.message === fault?.message) return undefined;
        fault = found;
        const message = `${fault.message} Until then, every lookup is answered with 503.`;
        observe({ type: 'data-warning', message });
        return undefined;
      }
    },
  };
}

function openChecked(path: string): SqliteReader {
  refuseForeignLog(path);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const { fault, noData } = inspect({ path, want: size <= READ_THROUGH ? 'soundness' : 'end' });
  if (fault === undefined) return openReader(path);
  throw noData ? new NoDataError(fault) : new StoreError(fault);
}
