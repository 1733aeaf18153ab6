// The file that is served. Its data may change, another file may be renamed over it, and there may be no file yet: the path is
// looked at four times a second. What comes has the checks of a start, and is served, or refused with one line in the log.

import { NoDataError, StoreError } from '../errors.ts';
import type { Counts, Reader, StoreListener } from '../reader.ts';
import { NO_COUNTS } from '../sql/counts.ts';
import { toStoreError } from './errors.ts';
import {
  type FileStats,
  isSameFile,
  isWritten,
  linkAside,
  readStats,
  refuseCutOff,
  refuseFirstImport,
  refuseForeignLog,
  refuseMissing,
  refuseOddFile,
  refuseOldLog,
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
  counts: Counts;
  /** Of the takedowns. No other file is served without them, also while this one is damaged. */
  mark?: string | undefined;
  /** What is at the path, if it cannot be served. */
  refused?: RefusedFile | undefined;
}

interface RefusedFile {
  readonly inode: number | undefined;
  readonly stats: FileStats;
  readonly error: Error;
  /** Looks in a row that found it. SQLite reports a read that failed as damage, so only what a second look finds is logged. */
  readonly looks: number;
}

export function openServed(path: string, observe: StoreListener): Reader {
  const stats = readStats(path);
  const file: ServedFile = { path, observe, stats, version: 0, counts: NO_COUNTS };
  start(file);
  const timer = setInterval(poll, POLL_MS, file).unref();
  const reader = () => requireReader(file);
  return {
    waiting: () => (file.reader === undefined ? undefined : describeRefused(file)),
    version: () => readVersion(file),
    lastImport: () => ifReadable(() => file.reader?.lastImport()),
    lastImportRun: () => ifReadable(() => file.reader?.lastImportRun()),
    profile: (family, userKey, options) => reader().profile(family, userKey, options),
    items: (family, userKey, collection, options) => reader().items(family, userKey, collection, options),
    isTakenDown: (family, userKey) => reader().isTakenDown(family, userKey),
    firstUsers: (family, count) => reader().firstUsers(family, count),
    users: (family, options) => reader().users(family, options),
    search: (family, key, limit) => reader().search(family, key, limit),
    newestShots: (userKeys, each) => reader().newestShots(userKeys, each),
    newest: (family, userKey, collection) => reader().newest(family, userKey, collection),
    item: (family, userKey, id) => reader().item(family, userKey, id),
    history: (family, userKey, options) => reader().history(family, userKey, options),
    historySizes: (family, userKey, options) => reader().historySizes(family, userKey, options),
    counts() {
      file.counts = ifReadable(() => file.reader?.counts()) ?? file.counts;
      return file.counts;
    },
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
  // The second look logs it.
  look(file, file.stats);
}

function poll(file: ServedFile): void {
  const found = readStats(file.path);
  const isInPlace = isSameFile(found.database, file.stats.database);
  ifReadable(() => file.reader?.hold(!isInPlace));
  // Its log was removed for a file that was in its place since: SQLite would show no commit, and pages of two moments.
  const isIndexLost = file.stats.index !== undefined && !isSameFile(found.index, file.stats.index);
  if (file.reader !== undefined && isInPlace && isIndexLost) renew(file);
  if (file.reader !== undefined && isInPlace) return noteChanges(file, found);
  // What was committed just before, too: the file must have these takedowns.
  readVersion(file);
  look(file, found);
}

function requireReader(file: ServedFile): SqliteReader {
  // What an import has just committed is served at once, not after the next poll. What is as it was is not opened again for
  // each lookup: with its checks that takes milliseconds.
  if (file.reader === undefined) {
    const found = readStats(file.path);
    if (file.refused === undefined || isChanged(file.refused.stats, found)) look(file, found);
  }
  if (file.reader === undefined) throw file.refused?.error;
  return file.reader;
}

/** Serves what is at the path if it passes the checks; otherwise what was served stays. */
function look(file: ServedFile, found: FileStats): void {
  try {
    const opened = openChecked(file, found);
    const stats = readStats(file.path);
    if (!isSameFile(stats.database, found.database)) {
      // It was replaced while it was opened.
      opened.reader.close();
      return look(file, stats);
    }
    const { reader, refused } = file;
    Object.assign(file, opened, { stats, version: file.version + 1, refused: undefined });
    reader?.close();
    if (reader !== undefined)
      file.observe({ type: 'data-swapped', message: 'another file took the place of the data' });
    else if (refused !== undefined)
      file.observe({ type: 'data-changed', message: 'there is data now, and it is served' });
  } catch (error) {
    refuse(file, found, toStoreError(file.path, error));
  }
}

/** Nothing of the file before is touched until this one has passed all checks: it may be put back in its place. */
function openChecked(file: ServedFile, found: FileStats) {
  const { path, stats, reader: served } = file;
  refuseMissing(path);
  refuseOddFile(path);
  if (served !== undefined) {
    refuseOldLog(path, found, stats);
    refuseFirstImport(path);
  }
  refuseForeignLog(path);
  refuseCutOff(path);
  if (served !== undefined) {
    checkAside(file, found);
    removeOldLog(path, found, stats);
  }
  return openSound(file, path);
}

function checkAside(file: ServedFile, found: FileStats): void {
  using link = linkAside(file.path, found, file.stats);
  if (link === undefined) return;
  try {
    openSound(file, link.path).reader.close();
  } catch (error) {
    const fault = toStoreError(link.path, error);
    if (!(fault instanceof StoreError)) throw fault;
    throw new StoreError(fault.message.replaceAll(link.path, file.path), { cause: error });
  }
}

/** Checks that read little, so that neither a start nor the lookups of other clients wait. */
function openSound({ mark: before }: ServedFile, path: string) {
  const reader = openReader(path);
  try {
    const [generation, mark] = [reader.version(), reader.newestMark()];
    if (generation === 0) throw unimported(path);
    if (before !== undefined && !reader.hasMark(before)) throw lostTakedowns(path);
    return { reader, generation, mark };
  } catch (error) {
    reader.close();
    throw error;
  }
}

/** It would bring back what they removed. */
const lostTakedowns = (path: string) =>
  new StoreError(
    `${path} lacks takedowns of the file that is served: before a file is put in place, run \`vitrine takedown --from\` ` +
      'on it with the file that it replaces.',
  );

function refuse(file: ServedFile, found: FileStats, error: Error): void {
  const { refused } = file;
  const inode = found.database?.ino;
  const isAgain = refused?.inode === inode && refused?.error.message === error.message;
  file.refused = { inode, stats: found, error, looks: isAgain ? refused.looks + 1 : 1 };
  const type = file.reader === undefined ? 'data-warning' : 'data-fault';
  const message = describeRefused(file);
  if (message !== undefined && file.refused.looks === 2) file.observe({ type, message });
}

const isChanged = (before: FileStats, now: FileStats) =>
  before.database?.ino !== now.database?.ino ||
  isWritten(before.database, now.database) ||
  isWritten(before.log, now.log);

/** Undefined before the second look. */
function describeRefused({ reader, refused }: ServedFile): string | undefined {
  if (refused === undefined || refused.looks === 1) return undefined;
  const { error } = refused;
  const effect =
    reader === undefined ? 'Until then, every lookup is answered with 503.' : 'The data before stays.';
  // An error that is no fault of the data is one of this program.
  return `${error instanceof StoreError ? error.message : error.stack} ${effect}`;
}

/** Closed first: connections of one process to one file share its index. */
function renew(file: ServedFile): void {
  const { reader } = file;
  file.reader = undefined;
  reader?.close();
  file.reader = ifReadable(() => openReader(file.path));
}

/** The file that is served is in its place. */
function noteChanges(file: ServedFile, found: FileStats): void {
  file.refused = undefined;
  if (!isWritten(file.stats.database, found.database) || reopenIfNewer(file)) file.stats = found;
  readVersion(file);
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
  const generation = ifReadable(() => file.reader?.version()) ?? file.generation;
  if (generation === file.generation) return file.version;
  file.generation = generation;
  file.mark = ifReadable(() => file.reader?.newestMark()) ?? file.mark;
  file.observe({ type: 'data-changed', message: 'the data changed' });
  return ++file.version;
}

/** Undefined while the file cannot be read: another program may hold it locked, or it may be damaged. */
function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
