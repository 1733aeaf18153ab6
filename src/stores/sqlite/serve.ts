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
import { describeRefused, type FoundFile, nextState, type ServedState } from './served-state.ts';

const POLL_MS = 250;

interface OpenedFile {
  readonly reader: SqliteReader;
  /** What was at the path when the reader was opened, or since then while it stayed the same file. */
  readonly stats: FileStats;
}

interface ServedFile {
  readonly path: string;
  readonly observe: StoreListener;
  state: ServedState<OpenedFile>;
  /** Counted, since two files may have the same generation. */
  version: number;
  generation?: number | undefined;
  counts: Counts;
  /** Of the takedowns. No other file is served without them, also while this one is damaged. */
  mark?: string | undefined;
}

export function openServed(path: string, observe: StoreListener): Reader {
  const file: ServedFile = { path, observe, state: { name: 'waiting' }, version: 0, counts: NO_COUNTS };
  start(file);
  const timer = setInterval(poll, POLL_MS, file).unref();
  const reader = () => requireReader(file);
  return {
    waiting: () => (file.state.name === 'held' ? describeRefused(file.state) : undefined),
    version: () => readVersion(file),
    lastImport: () => ifReadable(() => servedFile(file)?.reader.lastImport()),
    lastImportRun: () => ifReadable(() => servedFile(file)?.reader.lastImportRun()),
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
      file.counts = ifReadable(() => servedFile(file)?.reader.counts()) ?? file.counts;
      return file.counts;
    },
    mediaUrl: () => servedFile(file)?.reader.mediaUrl(),
    pictures: (files) => reader().pictures(files),
    fault: () =>
      file.state.name === 'waiting' ? file.state.refused?.error.message : file.state.served.reader.fault(),
    close() {
      clearInterval(timer);
      servedFile(file)?.reader.close();
    },
  };
}

const servedFile = ({ state }: ServedFile) => (state.name === 'waiting' ? undefined : state.served);

/** Fails unless there is something to serve, or waiting for an import helps. */
function start(file: ServedFile): void {
  look(file, readStats(file.path));
  if (file.state.name !== 'waiting') return;
  const error = file.state.refused?.error;
  if (!(error instanceof NoDataError)) throw error;
  // The second look logs it.
  look(file, readStats(file.path));
}

function poll(file: ServedFile): void {
  const found = readStats(file.path);
  const served = servedFile(file);
  const isInPlace = isSameFile(found.database, served?.stats.database);
  ifReadable(() => served?.reader.hold(!isInPlace));
  if (served !== undefined && isInPlace) return follow(file, served, found);
  // What was committed just before, too: the file must have these takedowns.
  readVersion(file);
  look(file, found);
}

function requireReader(file: ServedFile): SqliteReader {
  // What an import has just committed is served at once, not after the next poll. What is as it was is not opened again for
  // each lookup: with its checks that takes milliseconds.
  if (file.state.name === 'waiting') {
    const { refused } = file.state;
    const found = readStats(file.path);
    if (refused === undefined || isChanged(refused.stats, found)) look(file, found);
  }
  if (file.state.name === 'waiting') throw file.state.refused?.error;
  return file.state.served.reader;
}

function enter(file: ServedFile, found: FoundFile<OpenedFile>): void {
  const { state, log } = nextState(file.state, found);
  file.state = state;
  if (log !== undefined) file.observe(log);
}

/** Serves what is at the path if it passes the checks; otherwise what was served stays. */
function look(file: ServedFile, found: FileStats): void {
  try {
    const { reader, ...opened } = openChecked(file, found);
    const stats = readStats(file.path);
    if (!isSameFile(stats.database, found.database)) {
      // It was replaced while it was opened.
      reader.close();
      return look(file, stats);
    }
    const before = servedFile(file);
    Object.assign(file, opened, { version: file.version + 1 });
    enter(file, { is: 'another', opened: { reader, stats } });
    before?.reader.close();
  } catch (error) {
    enter(file, { is: 'refused', stats: found, error: toStoreError(file.path, error) });
  }
}

/** Nothing of the file before is touched until this one has passed all checks: it may be put back in its place. */
function openChecked(file: ServedFile, found: FileStats) {
  const { path, mark } = file;
  const served = servedFile(file);
  refuseMissing(path);
  refuseOddFile(path);
  if (served !== undefined) {
    refuseOldLog(path, found, served.stats);
    refuseFirstImport(path);
  }
  refuseForeignLog(path);
  refuseCutOff(path);
  if (served !== undefined) {
    checkAside(file, found, served.stats);
    removeOldLog(path, found, served.stats);
  }
  return openSound(path, mark);
}

function checkAside({ path, mark }: ServedFile, found: FileStats, served: FileStats): void {
  using link = linkAside(path, found, served);
  if (link === undefined) return;
  try {
    openSound(link.path, mark).reader.close();
  } catch (error) {
    const fault = toStoreError(link.path, error);
    if (!(fault instanceof StoreError)) throw fault;
    throw new StoreError(fault.message.replaceAll(link.path, path), { cause: error });
  }
}

/** Checks that read little, so that neither a start nor the lookups of other clients wait. */
function openSound(path: string, before: string | undefined) {
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
    `${path} lacks takedowns of the file that is served: run \`vitrine takedown --from\` on it with the file that it ` +
      'replaces. If that is gone or damaged, repeat the takedowns on this one, then restart the server.',
  );

const isChanged = (before: FileStats, now: FileStats) =>
  before.database?.ino !== now.database?.ino ||
  isWritten(before.database, now.database) ||
  isWritten(before.log, now.log);

/** The file that is served is in its place. */
function follow(file: ServedFile, { reader: before, stats }: OpenedFile, found: FileStats): void {
  // Its log was removed for a file that was in its place since: SQLite would show no commit, and pages of two moments.
  const isIndexLost = stats.index !== undefined && !isSameFile(found.index, stats.index);
  const reader = isIndexLost ? openAgain(file.path, before) : before;
  if (reader === undefined) {
    file.state = { name: 'waiting' };
    return look(file, found);
  }
  const newer = isWritten(stats.database, found.database) ? openIfNewer(file.path, reader) : reader;
  const opened = newer === undefined ? { reader, stats } : { reader: newer, stats: found };
  enter(file, { is: 'in place', opened });
  readVersion(file);
}

/** Closed first: connections of one process to one file share its index. */
function openAgain(path: string, reader: SqliteReader): SqliteReader | undefined {
  reader.close();
  return ifReadable(() => openReader(path));
}

/**
 * A writer that opened the file before it was noticed here shares no log with our reader: SQLite does not show its commits.
 * Undefined if the file cannot be read now.
 */
function openIfNewer(path: string, reader: SqliteReader): SqliteReader | undefined {
  const fresh = ifReadable(() => openReader(path));
  const generation = ifReadable(() => fresh?.version());
  const isNewer = generation !== undefined && generation !== ifReadable(() => reader.version());
  (isNewer ? reader : fresh)?.close();
  if (generation === undefined) return undefined;
  return isNewer ? fresh : reader;
}

function readVersion(file: ServedFile): number {
  const generation = ifReadable(() => servedFile(file)?.reader.version()) ?? file.generation;
  if (generation === file.generation) return file.version;
  file.generation = generation;
  if (lacksMark(file)) return refuseCopiedOver(file);
  file.mark = ifReadable(() => servedFile(file)?.reader.newestMark()) ?? file.mark;
  file.observe({ type: 'data-changed', message: 'the data changed' });
  return ++file.version;
}

const lacksMark = (file: ServedFile) =>
  file.mark !== undefined && ifReadable(() => servedFile(file)?.reader.hasMark(file.mark ?? '')) === false;

/** A backup was copied over the served file, as by `cp`. What was served is gone, and this would bring back who was taken down. */
function refuseCopiedOver(file: ServedFile): number {
  servedFile(file)?.reader.close();
  file.state = { name: 'waiting' };
  look(file, readStats(file.path));
  return file.version;
}

/** Undefined while the file cannot be read: another program may hold it locked, or it may be damaged. */
function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
