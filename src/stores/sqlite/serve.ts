// The file that is served: the data in it may change, another file may be renamed over it, and there may be no file yet.
// The path is looked at four times a second.
import { countOnce } from '../counts.ts';
import type { Reader, StoreListener } from '../reader.ts';
import { type Absence, createAbsence } from './absence.ts';
import { type FileStats, isSameFile, isWritten, readStats } from './file.ts';
import { inspectAside } from './inspect.ts';
import { openReader, type SqliteReader } from './read.ts';
import { createReplacement } from './replacement.ts';

const POLL_MS = 250;

export function openServed(path: string, observe: StoreListener): Reader {
  const absence = createAbsence(path, observe);
  const service = createService(path, observe);
  const first = absence.look({ isStart: true });
  if (first !== undefined) service.put(first);
  const watch = createWatch(path, observe, absence, service);
  const timer = setInterval(watch.poll, POLL_MS);
  timer.unref();
  const { reader } = watch;
  return {
    waiting: watch.waiting,
    version: service.version,
    lastImport: () => ifReadable(() => service.reader()?.lastImport()),
    lastImportRun: () => ifReadable(() => service.reader()?.lastImportRun()),
    profile: (family, userKey, options) => reader().profile(family, userKey, options),
    items: (family, userKey, collection, options) => reader().items(family, userKey, collection, options),
    person: (family, userKey, collection, known) => reader().person(family, userKey, collection, known),
    isTakenDown: (family, userKey) => reader().isTakenDown(family, userKey),
    firstUsers: (family, count) => reader().firstUsers(family, count),
    users: (family, options) => reader().users(family, options),
    usernames: (family, options) => reader().usernames(family, options),
    history: (family, userKey, options) => reader().history(family, userKey, options),
    counts: countOnce(service.version, async () => (await inspectAside({ path, want: 'counts' })).counts),
    mediaUrl: () => service.reader()?.mediaUrl(),
    fault: () => (service.reader() === undefined ? absence.fault()?.message : service.reader()?.fault()),
    close() {
      clearInterval(timer);
      watch.close();
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

type Service = ReturnType<typeof createService>;

/** The reader that is in service, and what is known of its data also when it cannot be read. */
function createService(path: string, observe: StoreListener) {
  let reader: SqliteReader | undefined;
  /** Counted, since two files may have the same generation. */
  let version = 0;
  let generation: number | undefined;
  let takedowns: readonly string[] = [];
  /** What was at the path when the reader was opened, or since then while it stayed the same file. */
  let stats = readStats(path);
  let reported = 0;

  const readVersion = () => {
    const current = ifReadable(() => reader?.version()) ?? generation;
    if (current !== generation) version++;
    generation = current;
    return version;
  };
  const readTakedowns = () => {
    takedowns = ifReadable(() => reader?.takedownHashes()) ?? takedowns;
    return takedowns;
  };

  /** Puts a reader in the place of the one before. */
  function put(opened: SqliteReader): void {
    reader?.close();
    reader = opened;
    stats = readStats(path);
    version++;
    reported = readVersion();
    readTakedowns();
  }

  return {
    reader: () => reader,
    stats: () => stats,
    version: readVersion,
    takedowns: readTakedowns,
    put,

    /** To be called when the served file is in its place. */
    noteChanges(current: FileStats): void {
      const before = reported;
      if (!isWritten(stats.database, current.database) || reopenIfNewer(path, reader, put)) stats = current;
      reported = readVersion();
      if (reported === before) return;
      // Now, since later the file may be damaged.
      readTakedowns();
      observe({ type: 'data-changed', message: 'the data changed' });
    },
  };
}

/**
 * A writer that opened the file before we noticed it shares no log with us: SQLite does not tell us of its commits.
 * False if the file cannot be read now.
 */
function reopenIfNewer(path: string, reader: SqliteReader | undefined, put: Service['put']): boolean {
  try {
    const fresh = openReader(path);
    if (fresh.version() === reader?.version()) fresh.close();
    else put(fresh);
    return true;
  } catch {
    return false;
  }
}

function createWatch(path: string, observe: StoreListener, absence: Absence, service: Service) {
  const replacement = createReplacement(path, observe);
  const missing = createMissing(path, observe);
  let closed = false;

  function lookAgain(): void {
    const opened = absence.look();
    if (opened === undefined) return;
    service.put(opened);
    observe({ type: 'data-changed', message: 'there is data now, and it is served' });
  }

  async function look(): Promise<void> {
    const current = readStats(path);
    // Only a regular file can be a database: a pipe would block whoever opens it.
    if (!missing.check(current.database?.isFile())) return;
    const stats = service.stats();
    if (isSameFile(current.database, stats.database)) {
      replacement.forget();
      return service.noteChanges(current);
    }
    const opened = await replacement.open(current, stats, service.takedowns());
    if (closed || opened === undefined) return void opened?.close();
    service.put(opened);
    observe({ type: 'data-swapped', message: 'another file took the place of the data' });
  }

  const lookOnce = unlessRunning(look);

  return {
    waiting: () => missing.warning() ?? replacement.refusal(),

    poll: () => (service.reader() === undefined ? lookAgain() : lookOnce()),

    /** Throws while there is nothing to serve. */
    reader(): SqliteReader {
      // What an import has just committed is served at once, not after the next poll.
      if (service.reader() === undefined && absence.hasChanged()) lookAgain();
      const reader = service.reader();
      if (reader === undefined) throw absence.fault();
      return reader;
    },

    close() {
      closed = true;
      service.reader()?.close();
    },
  };
}

/** The action, which is left out while it is running. */
function unlessRunning(action: () => Promise<void>): () => void {
  let isRunning = false;
  return () => {
    if (isRunning) return;
    isRunning = true;
    void action().finally(() => {
      isRunning = false;
    });
  };
}

/** Warns once when the file that is served is not in its place any more. */
function createMissing(path: string, observe: StoreListener) {
  const message = `${path} is missing: its data is served on, but the next start finds none.`;
  let isMissing = false;

  return {
    warning: () => (isMissing ? message : undefined),

    /** Gives what it is given: whether the file is there. */
    check(isThere = false): boolean {
      if (!isThere && !isMissing) observe({ type: 'data-warning', message });
      isMissing = !isThere;
      return isThere;
    },
  };
}
