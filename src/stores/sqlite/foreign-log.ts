// Whether the log or the journal beside a file belongs to it. SQLite applies both to whatever file they lie beside, also to
// one that was put there after a crash, and damages it. Nothing in them names their file, but both hold its first page, in
// which SQLite counts pages and writes. By chance, a log fits a file of a version before 1.3, and
// one that changes no count fits a file of the same length. Not to be called while this process has the file open.

import { closeSync, openSync, readSync } from 'node:fs';
import { StoreError } from '../errors.ts';
import { type FileStats, isSameFile, pageSize, readStart } from './file.ts';

/** Of a database file. */
const HEAD = 100;

export function refuseForeignLog(path: string): void {
  const journal = `${path}-journal`;
  // Moved, not removed: the file that it belongs to needs it, if that is still somewhere.
  if (!belongs(journal, path, isJournalOf))
    throw new StoreError(`${journal} is of another file, which was at ${path} before: move ${journal} away.`);
  if (!belongs(`${path}-wal`, path, isLogOf)) throw new StoreError(foreignLog(path));
}

/** Commits to the file that was replaced are not read into the new one. */
export function refuseOldLog(path: string, found: FileStats, served: FileStats): void {
  if (isSameFile(found.log, served.log) && (found.log?.size ?? 0) > 0) throw new StoreError(foreignLog(path));
}

/** Nothing is lost with what is moved away: another program may have written to the new file by the old log. */
const foreignLog = (path: string) =>
  `${path}-wal holds changes to another file, which was at ${path} before: move ${path}-wal and ${path}-shm away, and repeat the takedowns since ${path} was made.`;

type Read = (at: number, length: number) => Buffer;
type Judge = (read: Read, file: DatabaseHead) => boolean;

/** True as well where there is nothing that SQLite would apply, or if it went away meanwhile, as when a writer ends. */
function belongs(beside: string, path: string, judge: Judge): boolean {
  const start = readStart(beside, 32);
  if (start.length < 32) return true;
  let file: number;
  try {
    file = openSync(beside, 'r');
  } catch {
    return true;
  }
  try {
    // Read after the start and before the rest: a file is in WAL mode before it has a log, and gets pages of a log that are there by then.
    const head = readHead(path);
    const read: Read = (at, length) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, at));
    };
    return head === undefined || judge(read, head) || !readStart(beside, 32).equals(start);
  } finally {
    closeSync(file);
  }
}

interface DatabaseHead extends Counts {
  readonly path: string;
  readonly pageSize: number;
  readonly isInWalMode: boolean;
}

/** What SQLite counts in the first page. */
interface Counts {
  /** Raised when the first page is written. */
  readonly counter: number;
  readonly pages: number;
  /** Raised when a table or an index is made or dropped. In a file that we made, it begins with a random number. */
  readonly schema: number;
}

/** Undefined of an empty file, beside which SQLite applies nothing, and of one that never had a table and has nothing to lose. */
function readHead(path: string): DatabaseHead | undefined {
  const bytes = readStart(path, HEAD);
  if (bytes.length < HEAD) return undefined;
  const counts = readCounts(bytes);
  if (counts.schema === 0) return undefined;
  return {
    path,
    pageSize: pageSize(bytes),
    isInWalMode: bytes[18] === 2 && bytes[19] === 2,
    ...counts,
  };
}

const readCounts = (page: Buffer): Counts => ({
  counter: page.readUInt32BE(24),
  pages: page.readUInt32BE(28),
  schema: page.readUInt32BE(40),
});

const JOURNAL_MAGIC = 'd9d505f920a163d7';

const isPowerOfTwo = (size: number) => size >= 512 && size <= 65_536 && (size & (size - 1)) === 0;

/** A journal holds pages as they were before, and how many there were. */
function isJournalOf(read: Read, file: DatabaseHead): boolean {
  const start = read(0, 28);
  if (start.toString('hex', 0, 8) !== JOURNAL_MAGIC) return true;
  const [pages, sector, size] = [start.readUInt32BE(16), start.readUInt32BE(20), start.readUInt32BE(24)];
  // SQLite takes it for no journal.
  if (!isPowerOfTwo(size) || !isPowerOfTwo(sector)) return true;
  if (size !== file.pageSize) return false;
  const before = findFirstPage(read, sector, size);
  if (before === undefined) return pages === file.pages;
  const now = readStart(file.path, size);
  return before.equals(now) || readCounts(now).counter === readCounts(before).counter + 1;
}

/** Sectors with a head begin a run of pages, each with its number before it and a checksum behind it. */
function findFirstPage(read: Read, sector: number, size: number): Buffer | undefined {
  for (let at = 0; ; at = Math.ceil(at / sector) * sector) {
    const head = read(at, 12);
    if (head.length < 12 || head.toString('hex', 0, 8) !== JOURNAL_MAGIC) return undefined;
    // 0: not counted before the crash.
    const count = head.readUInt32BE(8) || 0xffff_ffff;
    at += sector;
    for (let nth = 0; nth < count; nth++, at += size + 8) {
      const number = read(at, 4);
      if (number.length < 4 || number.readUInt32BE(0) === 0) return undefined;
      if (number.readUInt32BE(0) === 1) return read(at + 4, size);
    }
  }
}

/** In the last bit, a log says which byte order its checksums have. */
const LOG_MAGIC = 0x377f0683;
const LOG_HEAD = 32;
const FRAME_HEAD = 24;
/** Of the first page. */
const COUNTS = 48;

/** The file is as it was before the log, or has got the first page from the log. */
function isLogOf(read: Read, file: DatabaseHead): boolean {
  const start = read(0, LOG_HEAD);
  // SQLite does not read what is no log, such as the zeros that a power failure leaves.
  if (start.length < LOG_HEAD || (start.readUInt32BE(0) | 1) !== LOG_MAGIC) return true;
  if (!file.isInWalMode || start.readUInt32BE(8) !== file.pageSize) return false;
  const { first, counts, isCopied } = readCommits(read, start, file);
  if (first === undefined || isCopied) return true;
  if (counts !== undefined && !isNext(file, counts)) return false;
  // Pages that a commit adds are in it. One that makes the file shorter writes it whole.
  const isWhole = first.pages < file.pages;
  const [from, written] = isWhole ? [0, first.frames] : [file.pages, first.added];
  const lockPage = LOCK_BYTE / file.pageSize + 1;
  const isLockBetween = from < lockPage && lockPage <= first.pages;
  return written >= first.pages - from - (isLockBetween ? 1 : 0);
}

/** More changes of the schema than a migration makes in one commit. */
const MOST_CHANGES = 10_000;

/** A connection may count two commits of its own as one. */
const isNext = (before: Counts, after: Counts) =>
  (after.counter === before.counter || after.counter === before.counter + 1) &&
  after.schema >= before.schema &&
  after.schema <= before.schema + MOST_CHANGES;

/** The page with it is never written. */
const LOCK_BYTE = 0x4000_0000;

interface Commits {
  /** The first commit: the pages that the file has by it, and how many pages it wrote and added. */
  readonly first: { readonly pages: number; readonly frames: number; readonly added: number } | undefined;
  /** Of the first page, when it is in the log first. */
  readonly counts: Counts | undefined;
  /** Whether the first page of the file is that of one of the commits. */
  readonly isCopied: boolean;
}

const isEqual = (one: Counts, other: Counts) =>
  one.counter === other.counter && one.pages === other.pages && one.schema === other.schema;

/** Reads as far as SQLite does, up to a frame that is left of an earlier log. */
function readCommits(read: Read, start: Buffer, file: DatabaseHead): Commits {
  let commits: Commits = { first: undefined, counts: undefined, isCopied: false };
  let { counts, isCopied } = commits;
  let added = 0;
  for (let frames = 1; ; frames++) {
    const frame = read(LOG_HEAD + (frames - 1) * (FRAME_HEAD + file.pageSize), FRAME_HEAD + COUNTS);
    if (frame.length < FRAME_HEAD + COUNTS || !frame.subarray(8, 16).equals(start.subarray(16, 24)))
      return commits;
    const [number, pages] = [frame.readUInt32BE(0), frame.readUInt32BE(4)];
    if (number > file.pages) added++;
    if (number === 1) {
      const found = readCounts(frame.subarray(FRAME_HEAD));
      counts ??= found;
      isCopied ||= isEqual(found, file);
    }
    if (pages > 0) commits = { first: commits.first ?? { pages, frames, added }, counts, isCopied };
  }
}
