// The file that is served. Its data may change, another file may be renamed over it, and there may be no file yet: the path is
// looked at four times a second. What comes has the checks of a start, and is served, or refused with one line in the log.

import { NoDataError, StoreError } from '../errors.ts';
import { countOnce, type Reader, type StoreListener } from '../reader.ts';
import { toStoreError } from './errors.ts';
import {
  type FileStats,
  isSameFile,
  isWritten,
  readStats,
  refuseCutOff,
  refuseForeignLog,
  refuseMissing,
  refuseOddFile,
  removeOldLog,
} from './file.ts';
import { unimported } from './migrate.ts';
import { openReader, type SqliteReader } from './read.ts';

const POLL_MS = 250;

interface ServedFile {
  readonly path: string;
  readonly observe: StoreListener;
  /** Undefined before there is data. */
  reader?: SqliteReader | undefined;
  /** What was at the path when the reader was opened, or since then while it stayed the same file. */
  stats: FileStats;
  /** Counted, since two files may have the same generation. */
  version: number;
  generation?: number | undefined;
  reported: number;
  /** Hashes. No other file is served without them, also while this one is damaged. */
  takedowns: readonly string[];
  /** Of what was at the path when it was looked at last and could not be served, and why. */
  refusedInode?: number | undefined;
  error?: Error | undefined;
  /** Why what is at the path is not served, as it was logged. */
  refusal?: string | undefined;
}

export function openServed(path: string, observe: StoreListener): Reader {
  const stats = readStats(path);
  const file: ServedFile = { path, observe, stats, version: 0, reported: 0, takedowns: [] };
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
    fault: () => (file.reader === undefined ? file.error?.message : file.reader.fault()),
    close() {
      clearInterval(timer);
      file.reader?.close();
    },
  };
}

/** Fails unless there is something to serve, or waiting for an import helps. */
function start(file: ServedFile): void {
  look(file, file.stats);
  if (file.error === undefined) return;
  if (!(file.error instanceof NoDataError)) throw file.error;
  // The second look logs it.
  look(file, file.stats);
}

function poll(file: ServedFile): void {
  const found = readStats(file.path);
  const isInPlace = isSameFile(found.database, file.stats.database);
  ifReadable(() => file.reader?.hold(!isInPlace));
  if (file.reader !== undefined && isInPlace) noteChanges(file, found);
  else look(file, found);
}

function requireReader(file: ServedFile): SqliteReader {
  // What an import has just committed is served at once, not after the next poll.
  if (file.reader === undefined) look(file, readStats(file.path));
  if (file.reader === undefined) throw file.error;
  return file.reader;
}

/** Serves what is at the path if it passes the checks; otherwise what was served stays. */
function look(file: ServedFile, found: FileStats): void {
  try {
    const isFirst = file.reader === undefined;
    const reader = openChecked(file, found);
    const stats = readStats(file.path);
    if (!isSameFile(stats.database, found.database)) {
      // It was replaced while it was opened.
      reader.close();
      return look(file, stats);
    }
    put(file, reader, stats);
    if (!isFirst) file.observe({ type: 'data-swapped', message: 'another file took the place of the data' });
    else if (file.error !== undefined)
      file.observe({ type: 'data-changed', message: 'there is data now, and it is served' });
    file.error = file.refusal = undefined;
  } catch (error) {
    refuse(file, found, toStoreError(file.path, error));
  }
}

/** Checks that read little, so that neither a start nor the lookups of other clients wait. */
function openChecked({ path, takedowns, stats, reader: before }: ServedFile, found: FileStats): SqliteReader {
  refuseMissing(path);
  refuseOddFile(path);
  if (before !== undefined) removeOldLog(path, found, stats);
  refuseForeignLog(path);
  refuseCutOff(path);
  const reader = openReader(path);
  try {
    if (reader.version() === 0) throw unimported(path);
    refuseLostTakedowns(path, reader, takedowns);
    return reader;
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
  const inode = found.database?.ino;
  // Another file may be refused for the same reason.
  if (inode !== file.refusedInode) file.error = file.refusal = undefined;
  const isAgain = error.message === file.error?.message;
  file.refusedInode = inode;
  file.error = error;
  const isFirst = file.reader === undefined;
  const effect = isFirst ? 'Until then, every lookup is answered with 503.' : 'The data before stays.';
  // An error that is no fault of the data is one of this program.
  const refusal = `${error instanceof StoreError ? error.message : error.stack} ${effect}`;
  if (!isAgain || refusal === file.refusal) return;
  file.refusal = refusal;
  file.observe({ type: isFirst ? 'data-warning' : 'data-fault', message: refusal });
}

/** The file that is served is in its place. */
function noteChanges(file: ServedFile, found: FileStats): void {
  file.error = file.refusal = undefined;
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
  const isOther = generation !== undefined && generation !== ifReadable(() => file.reader?.version());
  (isOther ? file.reader : fresh)?.close();
  if (isOther) file.reader = fresh;
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
