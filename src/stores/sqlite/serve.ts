// The file that is served. Its data may change, another file may be renamed over it, and there may be no file yet: the path is
// looked at four times a second. What comes has the checks of a start, and is served, or refused with one line in the log.
import { countOnce } from '../counts.ts';
import { NoDataError, StoreError } from '../errors.ts';
import type { Reader, StoreListener } from '../reader.ts';
import { errorCode, toStoreError } from './errors.ts';
import {
  type FileStats,
  isSameFile,
  isWritten,
  readStats,
  refuseCutOff,
  refuseForeignLog,
  removeLeftovers,
  signature,
} from './file.ts';
import { unimported } from './migrate.ts';
import { openReader, type SqliteReader } from './read.ts';

const POLL_MS = 250;
/** Faults that may go away without another file: too many open files, say. */
const MAY_PASS = /^SQLITE_(CANTOPEN|BUSY|READONLY|IOERR)/;

interface ServedFile {
  readonly path: string;
  readonly observe: StoreListener;
  /** Undefined before there is data. */
  reader: SqliteReader | undefined;
  /** What was at the path when the reader was opened, or since then while it stayed the same file. */
  stats: FileStats;
  /** Counted, since two files may have the same generation. */
  version: number;
  generation: number | undefined;
  /** The version that was logged. */
  reported: number;
  /** Hashes. No other file is served without them, also while this one is damaged. */
  takedowns: readonly string[];
  /** The file that could not be served when it was looked at last. */
  refused: { signature: string; error: Error; looks: number } | undefined;
  /** Why what is at the path is not served, as it was logged. */
  refusal: string | undefined;
}

export function openServed(path: string, observe: StoreListener): Reader {
  const unread = { reader: undefined, generation: undefined, refused: undefined, refusal: undefined };
  const stats = readStats(path);
  const file: ServedFile = { path, observe, ...unread, stats, version: 0, reported: 0, takedowns: [] };
  start(file);
  const timer = setInterval(poll, POLL_MS, file).unref();
  const reader = () => requireReader(file);
  return {
    waiting: () => (file.reader === undefined ? undefined : file.refusal),
    version: () => readVersion(file),
    lastImport: () => ifReadable(() => file.reader?.lastImport()),
    lastImportRun: () => ifReadable(() => file.reader?.lastImportRun()),
    profile: (family, userKey, options) => reader().profile(family, userKey, options),
    items: (family, userKey, collection, options) => reader().items(family, userKey, collection, options),
    isTakenDown: (family, userKey) => reader().isTakenDown(family, userKey),
    firstUsers: (family, count) => reader().firstUsers(family, count),
    users: (family, options) => reader().users(family, options),
    search: (family, key, limit) => reader().search(family, key, limit),
    history: (family, userKey, options) => reader().history(family, userKey, options),
    historySizes: (family, userKey, options) => reader().historySizes(family, userKey, options),
    counts: countOnce(
      () => readVersion(file),
      async () => file.reader?.counts(),
    ),
    mediaUrl: () => file.reader?.mediaUrl(),
    pictures: (files) => reader().pictures(files),
    fault: () => (file.reader === undefined ? file.refused?.error.message : file.reader.fault()),
    close() {
      clearInterval(timer);
      file.reader?.close();
    },
  };
}

/** Fails unless there is something to serve, or waiting for an import helps. */
function start(file: ServedFile): void {
  look(file, file.stats);
  if (file.refused === undefined) return;
  if (!(file.refused.error instanceof NoDataError)) throw file.refused.error;
  // A second look is for reads that failed.
  look(file, file.stats);
}

function poll(file: ServedFile): void {
  const found = readStats(file.path);
  if (file.reader === undefined) look(file, found);
  // Only a regular file can be a database: opening a pipe would wait for its other end.
  else if (!found.database?.isFile()) warnOfAbsence(file, found);
  else if (!isSameFile(found.database, file.stats.database)) lookUnlessRefused(file, found);
  else noteChanges(file, found);
}

/** Throws while there is nothing to serve. */
function requireReader(file: ServedFile): SqliteReader {
  // What an import has just committed is served at once, not after the next poll.
  if (file.reader === undefined) lookUnlessRefused(file, readStats(file.path));
  if (file.reader === undefined) throw file.refused?.error;
  return file.reader;
}

/** A file that was refused twice is not looked at again while it stays as it is. */
function lookUnlessRefused(file: ServedFile, found: FileStats): void {
  const { refused } = file;
  const isFinal =
    refused !== undefined && refused.looks > 1 && !MAY_PASS.test(errorCode(refused.error.cause));
  if (!isFinal || refused.signature !== signature(found)) look(file, found);
}

/** Serves what is at the path if it passes the checks; otherwise what was served stays. */
function look(file: ServedFile, found: FileStats): void {
  try {
    const isFirst = file.reader === undefined;
    put(file, ...openChecked(file, found));
    if (!isFirst) file.observe({ type: 'data-swapped', message: 'another file took the place of the data' });
    else if (file.refused !== undefined)
      file.observe({ type: 'data-changed', message: 'there is data now, and it is served' });
    file.refused = file.refusal = undefined;
  } catch (error) {
    refuse(file, found, toStoreError(file.path, error));
  }
}

/** Checks that read little, so that neither a start nor the lookups of other clients wait. */
function openChecked(
  { path, takedowns, stats, reader: before }: ServedFile,
  found: FileStats,
): [SqliteReader, FileStats] {
  if (before !== undefined) removeLeftovers(path, found, stats);
  refuseForeignLog(path);
  refuseCutOff(path);
  const reader = openReader(path);
  try {
    if (reader.version() === 0) throw unimported(path);
    refuseLostTakedowns(path, reader, takedowns);
    const now = readStats(path);
    if (isSameFile(now.database, found.database)) return [reader, now];
    throw new StoreError(`${path} was replaced while it was opened.`);
  } catch (error) {
    reader.close();
    throw error;
  }
}

/** A file without the takedowns of the one before would bring back what they removed. */
function refuseLostTakedowns(path: string, reader: SqliteReader, takedowns: readonly string[]): void {
  const kept = new Set(takedowns.length === 0 ? [] : reader.takedownHashes());
  const lost = takedowns.filter((hash) => !kept.has(hash)).length;
  if (lost === 0) return;
  throw new StoreError(
    `${path} lacks ${lost} of the ${takedowns.length} hashes of takedowns that are served: before a file is put ` +
      'in place, run `vitrine takedown --from` on it with the file that it replaces.',
  );
}

function put(file: ServedFile, reader: SqliteReader, stats: FileStats): void {
  file.reader?.close();
  file.reader = reader;
  file.stats = stats;
  file.version++;
  file.reported = readVersion(file);
  readTakedowns(file);
}

/** SQLite reports a read that failed as damage, so only what a second look finds again is logged. */
function refuse(file: ServedFile, found: FileStats, error: Error): void {
  const { refused, observe } = file;
  const isSame = refused?.signature === signature(found) && refused.error.message === error.message;
  const looks = isSame ? refused.looks + 1 : 1;
  file.refused = { signature: signature(found), error, looks };
  if (looks !== 2) return;
  const isFirst = file.reader === undefined;
  const effect = isFirst ? 'Until then, every lookup is answered with 503.' : 'The data before stays.';
  // An error that is no fault of the data is one of this program.
  file.refusal = `${error instanceof StoreError ? error.message : error.stack} ${effect}`;
  observe({ type: isFirst ? 'data-warning' : 'data-fault', message: file.refusal });
}

function warnOfAbsence(file: ServedFile, { database }: FileStats): void {
  const what = database === undefined ? 'is missing' : 'is not a regular file';
  const message = `${file.path} ${what}: its data is served on, but the next start finds none.`;
  if (message === file.refusal) return;
  file.refused = undefined;
  file.refusal = message;
  file.observe({ type: 'data-warning', message });
}

/** The file that is served is in its place. */
function noteChanges(file: ServedFile, found: FileStats): void {
  file.refused = file.refusal = undefined;
  if (!isWritten(file.stats.database, found.database) || reopenIfNewer(file)) file.stats = found;
  if (readVersion(file) === file.reported) return;
  file.reported = file.version;
  readTakedowns(file);
  file.observe({ type: 'data-changed', message: 'the data changed' });
}

/**
 * A writer that opened the file before it was noticed here shares no log with our reader: SQLite does not show its commits.
 * False if the file cannot be read now.
 */
function reopenIfNewer(file: ServedFile): boolean {
  const fresh = ifReadable(() => openReader(file.path));
  const generation = ifReadable(() => fresh?.version());
  if (
    fresh === undefined ||
    generation === undefined ||
    generation === ifReadable(() => file.reader?.version())
  )
    fresh?.close();
  else {
    file.reader?.close();
    file.reader = fresh;
  }
  return generation !== undefined;
}

function readVersion(file: ServedFile): number {
  const now = ifReadable(() => file.reader?.version()) ?? file.generation;
  if (now !== file.generation) file.version++;
  file.generation = now;
  return file.version;
}

function readTakedowns(file: ServedFile): void {
  file.takedowns = ifReadable(() => file.reader?.takedownHashes()) ?? file.takedowns;
}

/** Undefined while the file cannot be read: another program may hold it locked, or it may be damaged. */
function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
