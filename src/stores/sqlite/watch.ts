// The file that is served: the data in it may change, another file may be renamed over it, and there may be no file yet.
// The path is looked at four times a second.
import { countOnce } from '../count-once.ts';
import type { Reader, StoreEvents, StoreListener } from '../reader.ts';
import { type Absence, createAbsence } from './absence.ts';
import { type FileStats, isSameFile, isWritten, readStats } from './file-stats.ts';
import { createInService, type InService } from './in-service.ts';
import { inspectAside } from './inspect.ts';
import { SCHEMA_VERSION } from './migrate.ts';
import type { SqliteReader } from './read.ts';
import { createReplacement } from './replacement.ts';

const POLL_MS = 250;

export function openServed(path: string, observe: StoreListener): Reader {
  const absence = createAbsence(path, observe);
  const inService = createInService(path);
  const first = absence.start();
  if (first !== undefined) inService.put(first);
  const watch = createWatch(path, observe, absence, inService);
  const timer = setInterval(() => void watch.poll(), POLL_MS);
  timer.unref();
  const { reader, version } = watch;
  return {
    events: watch.events,
    waiting: watch.waiting,
    version,
    schema: SCHEMA_VERSION,
    lastImport: () => ifReadable(() => inService.reader()?.lastImport()),
    lastImportRun: () => ifReadable(() => inService.reader()?.lastImportRun()),
    profile: (family, userKey, options) => reader().profile(family, userKey, options),
    items: (family, userKey, collection, options) => reader().items(family, userKey, collection, options),
    person: (family, userKey, collection, known) => reader().person(family, userKey, collection, known),
    isTakenDown: (family, userKey) => reader().isTakenDown(family, userKey),
    takedowns: () => reader().takedowns(),
    firstUsers: (family, count) => reader().firstUsers(family, count),
    users: (family, options) => reader().users(family, options),
    history: (family, userKey, options) => reader().history(family, userKey, options),
    counts: countOnce(version, async () => (await inspectAside({ path, want: 'counts' })).counts),
    mediaUrl: () => inService.reader()?.mediaUrl(),
    fault: () => (inService.reader() === undefined ? absence.fault()?.message : inService.reader()?.fault()),
    close() {
      clearInterval(timer);
      watch.close();
    },
  };
}

/** Undefined while the file cannot be read. */
function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function createWatch(path: string, observe: StoreListener, absence: Absence, inService: InService) {
  const events: StoreEvents = { swaps: 0, refusals: 0 };
  const replacement = createReplacement(path, events, observe);
  /** What was at the path when the reader was opened, or since then while it stayed the same file. */
  let stats = readStats(path);
  let reported = inService.version();
  let missing: string | undefined;
  let polling = false;
  let closed = false;

  function put(opened: SqliteReader, message: string): void {
    inService.put(opened);
    stats = readStats(path);
    reported = inService.version();
    observe({ type: 'data-changed', message });
  }

  function lookAgain(): void {
    const opened = absence.look();
    if (opened !== undefined) put(opened, 'there is data now, and it is served');
  }

  async function look(): Promise<void> {
    const current = readStats(path);
    // Only a regular file can be a database: a pipe would block whoever opens it.
    noteMissing(!current.database?.isFile());
    if (missing !== undefined) return;
    if (isSameFile(current.database, stats.database)) return noteChanges(current);
    const opened = await replacement.open(current, stats, inService.takedowns());
    if (closed || opened === undefined) return void opened?.close();
    replacement.forget();
    events.swaps++;
    put(opened, 'another file took the place of the data');
  }

  function noteMissing(isMissing: boolean): void {
    const wasMissing = missing !== undefined;
    missing = isMissing
      ? `${path} is missing: its data is served on, but the next start finds none.`
      : undefined;
    if (missing !== undefined && !wasMissing) observe({ type: 'data-warning', message: missing });
  }

  function noteChanges(current: FileStats): void {
    replacement.forget();
    const isUnseen = !inService.sawCommit() && isWritten(stats.database, current.database);
    if (!isUnseen || inService.reopenIfNewer()) stats = current;
    if (inService.version() === reported) return;
    reported = inService.version();
    observe({ type: 'data-changed', message: 'the data changed' });
  }

  return {
    events,
    version: inService.version,
    waiting: () => missing ?? replacement.refusal(),

    async poll(): Promise<void> {
      if (inService.reader() === undefined) return lookAgain();
      if (polling) return;
      polling = true;
      await look().finally(() => {
        polling = false;
      });
    },

    /** Throws while there is nothing to serve. */
    reader(): SqliteReader {
      // What an import has just committed is served at once, not after the next poll.
      if (inService.reader() === undefined && absence.hasChanged()) lookAgain();
      const reader = inService.reader();
      if (reader === undefined) throw absence.fault();
      return reader;
    },

    close() {
      closed = true;
      inService.reader()?.close();
    },
  };
}
