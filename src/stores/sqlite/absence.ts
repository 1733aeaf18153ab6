// Until the first import has committed there is nothing to serve. The file is looked at again when it has changed.
import { statSync } from 'node:fs';
import { NoDataError, StoreError } from '../errors.ts';
import type { StoreListener } from '../reader.ts';
import { refuseForeignLog } from './connect.ts';
import { toStoreError } from './errors.ts';
import { readStats, signature } from './file-stats.ts';
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

  function open(): SqliteReader | StoreError {
    seen = signature(readStats(path));
    try {
      return openChecked(path);
    } catch (error) {
      return toStoreError(path, error);
    }
  }

  /** A reason is logged once, however often the file is looked at. */
  function note(found: StoreError): undefined {
    if (found.message === fault?.message) return;
    fault = found;
    observe({
      type: 'data-warning',
      message: `${found.message} Until then, every lookup is answered with 503.`,
    });
  }

  return {
    fault: () => fault,
    hasChanged: () => signature(readStats(path)) !== seen,

    /** A reader, if there is something to serve. */
    look(): SqliteReader | undefined {
      const found = open();
      return found instanceof StoreError ? note(found) : found;
    },

    /** The same at the start, which fails unless waiting for an import helps. */
    start(): SqliteReader | undefined {
      const found = open();
      if (found instanceof StoreError && !(found instanceof NoDataError)) throw found;
      return found instanceof StoreError ? note(found) : found;
    },
  };
}

function openChecked(path: string): SqliteReader {
  refuseForeignLog(path);
  const reader = openReader(path);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const { fault, noData } = inspect({ path, want: size <= READ_THROUGH ? 'soundness' : 'end' });
  if (fault === undefined) return reader;
  reader.close();
  throw noData ? new NoDataError(fault) : new StoreError(fault);
}
