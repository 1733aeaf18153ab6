// The file that is served: the data in it may change, another file may be renamed over it, and there may be no file yet.
// The path is looked at four times a second.
import { statSync } from 'node:fs';
import { countOnce } from '../counts.ts';
import { NoDataError, StoreError } from '../errors.ts';
import type { Reader, StoreEvent, StoreListener } from '../reader.ts';
import { type Current, createCurrent, ifReadable } from './current.ts';
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
  const current = createCurrent(path);
  const refusal = createRefusal(observe);
  const absence = createAbsence(path, current, refusal, observe);
  const replacement = createReplacement(path, current, refusal, observe);
  absence.serveFirst({ isStart: true });
  const timer = setInterval(
    createPoll(path, { current, refusal, absence, replacement, observe }),
    POLL_MS,
  ).unref();
  const reader = absence.requireReader;
  return {
    waiting: () => (current.reader() === undefined ? undefined : refusal.message()),
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
    fault: () => {
      const reader = current.reader();
      return reader === undefined ? absence.fault()?.message : reader.fault();
    },
    close() {
      clearInterval(timer);
      replacement.stop();
      current.reader()?.close();
    },
  };
}

type Refusal = ReturnType<typeof createRefusal>;

/** Why what is at the path is not served; it is logged once, however often the path is looked at. */
function createRefusal(observe: StoreListener) {
  let current: StoreEvent | undefined;
  /** The signature of a file that is not looked at again while it stays as it is. */
  let seen = '';

  return {
    message: () => current?.message,
    isOf: (stats: FileStats) => seen === signature(stats),
    lookAgain(): void {
      seen = '';
    },
    lastFor(stats: FileStats): void {
      seen = signature(stats);
    },
    begin(event: StoreEvent): void {
      if (event.message === current?.message) return;
      current = event;
      observe(event);
    },
    end(): void {
      current = undefined;
    },
  };
}

type Absence = ReturnType<typeof createAbsence>;

/** The time before there is anything to serve. */
function createAbsence(path: string, current: Current, refusal: Refusal, observe: StoreListener) {
  /** What lookups fail with. */
  let fault: StoreError | undefined;

  /** Serves the file if there is none yet. At the start, it fails unless waiting for an import helps. */
  function serveFirst({ isStart = false } = {}): void {
    const found = readStats(path);
    try {
      current.put(openChecked(path));
      refusal.end();
      refusal.lookAgain();
      current.report();
      if (!isStart) observe({ type: 'data-changed', message: 'there is data now, and it is served' });
    } catch (error) {
      fault = toStoreError(path, error);
      if (isStart && !(fault instanceof NoDataError)) throw fault;
      refusal.lastFor(found);
      const message = `${fault.message} Until then, every lookup is answered with 503.`;
      refusal.begin({ type: 'data-warning', message });
    }
  }

  return {
    serveFirst,
    fault: () => fault,
    /** Throws while there is nothing to serve. */
    requireReader(): SqliteReader {
      // What an import has just committed is served at once, not after the next poll.
      if (current.reader() === undefined && !refusal.isOf(readStats(path))) serveFirst();
      const reader = current.reader();
      if (reader === undefined) throw fault;
      return reader;
    },
  };
}

function openChecked(path: string): SqliteReader {
  refuseForeignLog(path);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  refuseUnsound(path, { readsThrough: size <= READ_THROUGH });
  return openReader(path);
}

type Replacement = ReturnType<typeof createReplacement>;

/** Serves another file that was renamed over the one before, if it is sound and has all takedowns of that. */
function createReplacement(path: string, current: Current, refusal: Refusal, observe: StoreListener) {
  let isStopped = false;

  async function replace(found: FileStats): Promise<void> {
    // Yet another file may come meanwhile: it gets a check of its own.
    const isThere = () => !isStopped && isSameFile(readStats(path).database, found.database);
    try {
      removeLeftovers(path, found, current.stats());
      const { fault } = await inspectAside({ path, want: 'soundness', takedowns: current.takedowns() });
      if (!isThere()) return;
      if (fault !== undefined) {
        // Each file is logged, also if it has the fault of the one before.
        refusal.end();
        refusal.lastFor(found);
        throw new StoreError(fault);
      }
      const opened = openReader(path);
      if (!isThere()) return void opened.close();
      current.put(opened);
      refusal.end();
      refusal.lookAgain();
      current.report();
      observe({ type: 'data-swapped', message: 'another file took the place of the data' });
    } catch (error) {
      const message = `${toStoreError(path, error).message} The data before stays.`;
      refusal.begin({ type: 'data-fault', message });
    }
  }

  return {
    replace,
    stop(): void {
      isStopped = true;
    },
  };
}

interface Watch {
  readonly current: Current;
  readonly refusal: Refusal;
  readonly absence: Absence;
  readonly replacement: Replacement;
  readonly observe: StoreListener;
}

/** Looks whether the file that is served is in its place, and has changed. */
function createPoll(path: string, { current, refusal, absence, replacement, observe }: Watch): () => void {
  let isChecking = false;

  async function check(): Promise<void> {
    const found = readStats(path);
    // Only a regular file can be a database: a pipe would block whoever opens it.
    if (!found.database?.isFile()) {
      refusal.lookAgain();
      const message = `${path} is missing: its data is served on, but the next start finds none.`;
      return refusal.begin({ type: 'data-warning', message });
    }
    if (!isSameFile(found.database, current.stats().database)) {
      if (!refusal.isOf(found)) await replacement.replace(found);
      return;
    }
    refusal.end();
    if (current.noteChanges(found)) observe({ type: 'data-changed', message: 'the data changed' });
  }

  return () => {
    if (current.reader() === undefined) return absence.serveFirst();
    if (isChecking) return;
    isChecking = true;
    void check().finally(() => {
      isChecking = false;
    });
  };
}
