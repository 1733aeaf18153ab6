// The file that is served: the data in it may change, another file may be renamed over it, and there may be no file yet.
// The path is looked at four times a second.
import { statSync } from 'node:fs';
import { countOnce } from '../counts.ts';
import { NoDataError, StoreError } from '../errors.ts';
import type { Reader, StoreEvent, StoreListener } from '../reader.ts';
import { type CurrentReader, createCurrentReader, ifReadable } from './current-reader.ts';
import { toStoreError } from './errors.ts';
import {
  type FileStats,
  isSameFile,
  readStats,
  refuseForeignLog,
  removeLeftovers,
  signature,
} from './file.ts';
import { inspectAside, refuseUnsound } from './inspect.ts';
import { openReader, type SqliteReader } from './read.ts';

const POLL_MS = 250;
/** Bytes: up to this size a file is read through before it is served; no start waits for a larger one. */
const READ_THROUGH = 2 ** 20;

export function openServed(path: string, observe: StoreListener): Reader {
  const current = createCurrentReader(path, observe);
  const watch = createWatch(path, current, observe);
  watch.start();
  const timer = setInterval(watch.poll, POLL_MS);
  timer.unref();
  const { reader } = watch;
  return {
    waiting: watch.waiting,
    version: current.version,
    lastImport: () => ifReadable(() => current.reader()?.lastImport()),
    lastImportRun: () => ifReadable(() => current.reader()?.lastImportRun()),
    profile: (family, userKey, options) => reader().profile(family, userKey, options),
    items: (family, userKey, collection, options) => reader().items(family, userKey, collection, options),
    person: (family, userKey, collection, known) => reader().person(family, userKey, collection, known),
    isTakenDown: (family, userKey) => reader().isTakenDown(family, userKey),
    firstUsers: (family, count) => reader().firstUsers(family, count),
    users: (family, options) => reader().users(family, options),
    history: (family, userKey, options) => reader().history(family, userKey, options),
    counts: countOnce(current.version, async () => (await inspectAside({ path, want: 'counts' })).counts),
    mediaUrl: () => current.reader()?.mediaUrl(),
    fault: watch.fault,
    close() {
      clearInterval(timer);
      watch.close();
    },
  };
}

/** Finds what is to be served: the first data, changes of it, and another file in its place. */
function createWatch(path: string, current: CurrentReader, observe: StoreListener) {
  const refusal = createRefusal(observe);
  const missing = `${path} is missing: its data is served on, but the next start finds none.`;
  let isChecking = false;
  let closed = false;
  const watch: Watch = { path, current, refusal, observe, isClosed: () => closed };

  /** Looks whether the file that is served is in its place, and has changed. */
  async function check(): Promise<void> {
    const found = readStats(path);
    // Only a regular file can be a database: a pipe would block whoever opens it.
    if (!found.database?.isFile()) return refusal.begin({ type: 'data-warning', message: missing });
    if (isSameFile(found.database, current.stats().database)) {
      refusal.end();
      return current.noteChanges(found);
    }
    if (!refusal.isLasting(found)) await replace(watch, found);
  }

  return {
    start: () => serveFirst(watch, { isStart: true }),
    waiting: () => (current.reader() === undefined ? undefined : refusal.message()),
    fault: () => (current.reader() === undefined ? refusal.fault()?.message : current.reader()?.fault()),

    poll(): void {
      if (current.reader() === undefined) return serveFirst(watch);
      if (isChecking) return;
      isChecking = true;
      void check().finally(() => {
        isChecking = false;
      });
    },

    /** Throws while there is nothing to serve. */
    reader(): SqliteReader {
      // What an import has just committed is served at once, not after the next poll.
      if (current.reader() === undefined && !refusal.isLasting(readStats(path))) serveFirst(watch);
      const reader = current.reader();
      if (reader === undefined) throw refusal.fault();
      return reader;
    },

    close() {
      closed = true;
      current.reader()?.close();
    },
  };
}

interface Watch {
  readonly path: string;
  readonly current: CurrentReader;
  readonly refusal: ReturnType<typeof createRefusal>;
  readonly observe: StoreListener;
  readonly isClosed: () => boolean;
}

/** Serves the file if there is none yet. At the start, it fails unless waiting for an import helps. */
function serveFirst({ path, current, refusal, observe }: Watch, { isStart = false } = {}): void {
  const found = readStats(path);
  try {
    current.put(openChecked(path));
    refusal.end();
    if (!isStart) observe({ type: 'data-changed', message: 'there is data now, and it is served' });
  } catch (error) {
    const fault = toStoreError(path, error);
    if (isStart && !(fault instanceof NoDataError)) throw fault;
    const message = `${fault.message} Until then, every lookup is answered with 503.`;
    refusal.begin({ type: 'data-warning', message }, fault, found);
  }
}

/** Serves another file that was renamed over the one before, if it is sound and has all takedowns of that. */
async function replace(
  { path, current, refusal, observe, isClosed }: Watch,
  found: FileStats,
): Promise<void> {
  // Yet another file may come meanwhile: it gets a check of its own.
  const isThere = () => !isClosed() && isSameFile(readStats(path).database, found.database);
  let isFinal = false;
  try {
    removeLeftovers(path, found, current.stats());
    const takedowns = current.takedowns();
    const { fault, mayPass = false } = await inspectAside({ path, want: 'soundness', takedowns });
    if (!isThere()) return;
    isFinal = fault !== undefined && !mayPass;
    if (fault !== undefined) throw new StoreError(fault);
    const opened = openReader(path);
    if (!isThere()) return void opened.close();
    current.put(opened);
    refusal.end();
    observe({ type: 'data-swapped', message: 'another file took the place of the data' });
  } catch (error) {
    const message = `${toStoreError(path, error).message} The data before stays.`;
    // Each file is logged, also if it has the fault of the one before.
    if (isFinal) refusal.end();
    refusal.begin({ type: 'data-fault', message }, undefined, isFinal ? found : undefined);
  }
}

function openChecked(path: string): SqliteReader {
  refuseForeignLog(path);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  refuseUnsound(path, { readsThrough: size <= READ_THROUGH });
  return openReader(path);
}

/** Why what is at the path is not served; it is logged once, however often the path is looked at. */
function createRefusal(observe: StoreListener) {
  let event: StoreEvent | undefined;
  let fault: StoreError | undefined;
  /** Of the files that are not looked at again while they stay as they are. */
  let seen = '';

  return {
    message: () => event?.message,
    /** What lookups fail with while there is nothing to serve. */
    fault: () => fault,
    isLasting: (stats: FileStats) => signature(stats) === seen,

    begin(found: StoreEvent, error?: StoreError, stats?: FileStats): void {
      seen = stats === undefined ? '' : signature(stats);
      if (found.message === event?.message) return;
      event = found;
      fault = error;
      observe(found);
    },

    end(): void {
      event = undefined;
      seen = '';
    },
  };
}
