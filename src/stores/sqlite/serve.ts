// The file that is served: the data in it may change, another file may be renamed over it, and there may be no file yet.
// The path is looked at four times a second.
import { statSync } from 'node:fs';
import { countOnce } from '../counts.ts';
import { NoDataError, StoreError } from '../errors.ts';
import type { Reader, StoreEvent, StoreListener } from '../reader.ts';
import { toStoreError } from './errors.ts';
import {
  type FileStats,
  isSameFile,
  isWritten,
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

/** What is served, and what is known of its data also while that cannot be read. */
interface ServedFile {
  readonly path: string;
  readonly observe: StoreListener;
  /** Undefined until there is data. */
  reader: SqliteReader | undefined;
  /** What was at the path when the reader was opened, or since then while it stayed the same file. */
  stats: FileStats;
  /** Counted, since two files may have the same generation. */
  version: number;
  /** The version that the log was told of. */
  reported: number;
  generation: number | undefined;
  takedowns: readonly string[];
  /** Why what is at the path is not served. */
  refusal: StoreEvent | undefined;
  /** The signature of a file that is not looked at again while it stays as it is. */
  refused: string;
  /** What lookups fail with while there is nothing to serve. */
  fault: StoreError | undefined;
  isClosed: boolean;
}

const UNKNOWN = {
  reader: undefined,
  version: 0,
  reported: 0,
  generation: undefined,
  takedowns: [],
  refusal: undefined,
  refused: '',
  fault: undefined,
  isClosed: false,
};

export function openServed(path: string, observe: StoreListener): Reader {
  const served: ServedFile = { path, observe, stats: readStats(path), ...UNKNOWN };
  serveFirst(served, { isStart: true });
  const timer = setInterval(createPoll(served), POLL_MS).unref();
  const reader = () => requireReader(served);
  return {
    waiting: () => (served.reader === undefined ? undefined : served.refusal?.message),
    version: () => readVersion(served),
    lastImport: () => ifReadable(() => served.reader?.lastImport()),
    lastImportRun: () => ifReadable(() => served.reader?.lastImportRun()),
    profile: (family, userKey, options) => reader().profile(family, userKey, options),
    items: (family, userKey, collection, options) => reader().items(family, userKey, collection, options),
    person: (family, userKey, collection, known) => reader().person(family, userKey, collection, known),
    isTakenDown: (family, userKey) => reader().isTakenDown(family, userKey),
    firstUsers: (family, count) => reader().firstUsers(family, count),
    users: (family, options) => reader().users(family, options),
    history: (family, userKey, options) => reader().history(family, userKey, options),
    counts: countOnce(
      () => readVersion(served),
      async () => (await inspectAside({ path, want: 'counts' })).counts,
    ),
    mediaUrl: () => served.reader?.mediaUrl(),
    fault: () => (served.reader === undefined ? served.fault?.message : served.reader.fault()),
    close() {
      clearInterval(timer);
      served.isClosed = true;
      served.reader?.close();
    },
  };
}

/** Undefined while the file cannot be read: another program may hold it locked, or it may be damaged. */
function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function readVersion(served: ServedFile): number {
  const generation = ifReadable(() => served.reader?.version()) ?? served.generation;
  if (generation !== served.generation) served.version++;
  served.generation = generation;
  return served.version;
}

/** Later the file may be damaged: then no other takes its place without these. */
function rememberTakedowns(served: ServedFile): void {
  served.takedowns = ifReadable(() => served.reader?.takedownHashes()) ?? served.takedowns;
}

/** Throws while there is nothing to serve. */
function requireReader(served: ServedFile): SqliteReader {
  // What an import has just committed is served at once, not after the next poll.
  if (served.reader === undefined && served.refused !== signature(readStats(served.path))) serveFirst(served);
  if (served.reader === undefined) throw served.fault;
  return served.reader;
}

function createPoll(served: ServedFile): () => void {
  let isChecking = false;
  return () => {
    if (served.reader === undefined) return serveFirst(served);
    if (isChecking) return;
    isChecking = true;
    void check(served).finally(() => {
      isChecking = false;
    });
  };
}

/** Looks whether the file that is served is in its place, and has changed. */
async function check(served: ServedFile): Promise<void> {
  const { path } = served;
  const found = readStats(path);
  // Only a regular file can be a database: a pipe would block whoever opens it.
  if (!found.database?.isFile()) {
    served.refused = '';
    const message = `${path} is missing: its data is served on, but the next start finds none.`;
    return refuse(served, { type: 'data-warning', message });
  }
  if (!isSameFile(found.database, served.stats.database)) {
    if (served.refused !== signature(found)) await replace(served, found);
    return;
  }
  served.refusal = undefined;
  if (!isWritten(served.stats.database, found.database) || reopenIfNewer(served)) served.stats = found;
  if (readVersion(served) === served.reported) return;
  served.reported = served.version;
  rememberTakedowns(served);
  served.observe({ type: 'data-changed', message: 'the data changed' });
}

/**
 * A writer that opened the file before we noticed it shares no log with us: SQLite does not tell us of its commits.
 * False if the file cannot be read now.
 */
function reopenIfNewer(served: ServedFile): boolean {
  const fresh = ifReadable(() => openReader(served.path));
  const version = ifReadable(() => fresh?.version());
  if (fresh !== undefined && version !== undefined && version !== ifReadable(() => served.reader?.version()))
    put(served, fresh);
  else fresh?.close();
  return version !== undefined;
}

/** Puts a reader in the place of the one before. */
function put(served: ServedFile, reader: SqliteReader): void {
  served.reader?.close();
  Object.assign(served, { reader, stats: readStats(served.path), refusal: undefined, refused: '' });
  served.version++;
  rememberTakedowns(served);
}

/** Serves the file if there is none yet. At the start, it fails unless waiting for an import helps. */
function serveFirst(served: ServedFile, { isStart = false } = {}): void {
  const { path, observe } = served;
  const found = readStats(path);
  try {
    put(served, openChecked(path));
    served.reported = readVersion(served);
    if (!isStart) observe({ type: 'data-changed', message: 'there is data now, and it is served' });
  } catch (error) {
    served.fault = toStoreError(path, error);
    if (isStart && !(served.fault instanceof NoDataError)) throw served.fault;
    served.refused = signature(found);
    const message = `${served.fault.message} Until then, every lookup is answered with 503.`;
    refuse(served, { type: 'data-warning', message });
  }
}

function openChecked(path: string): SqliteReader {
  refuseForeignLog(path);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  refuseUnsound(path, { readsThrough: size <= READ_THROUGH });
  return openReader(path);
}

/** Serves another file that was renamed over the one before, if it is sound and has all takedowns of that. */
async function replace(served: ServedFile, found: FileStats): Promise<void> {
  const { path, observe } = served;
  // Yet another file may come meanwhile: it gets a check of its own.
  const isThere = () => !served.isClosed && isSameFile(readStats(path).database, found.database);
  try {
    removeLeftovers(path, found, served.stats);
    rememberTakedowns(served);
    const { fault } = await inspectAside({ path, want: 'soundness', takedowns: served.takedowns });
    if (!isThere()) return;
    if (fault !== undefined) {
      // Each file is logged, also if it has the fault of the one before.
      served.refusal = undefined;
      served.refused = signature(found);
      throw new StoreError(fault);
    }
    const opened = openReader(path);
    if (!isThere()) return void opened.close();
    put(served, opened);
    served.reported = readVersion(served);
    observe({ type: 'data-swapped', message: 'another file took the place of the data' });
  } catch (error) {
    const message = `${toStoreError(path, error).message} The data before stays.`;
    refuse(served, { type: 'data-fault', message });
  }
}

/** Logs once why what is at the path is not served, however often the path is looked at. */
function refuse(served: ServedFile, event: StoreEvent): void {
  if (event.message === served.refusal?.message) return;
  served.refusal = event;
  served.observe(event);
}
