// What lies at the path of a database: the file, and the log and index that SQLite keeps beside it.
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { NoDataError, StoreError } from '../errors.ts';
import { nameUnfinished } from '../output.ts';

export interface FileStats {
  readonly database: Stats | undefined;
  readonly log: Stats | undefined;
  readonly index: Stats | undefined;
}

export const readStats = (path: string): FileStats => ({
  database: readStat(path),
  log: readStat(`${path}-wal`),
  index: readStat(`${path}-shm`),
});

/** Undefined when the file is missing or cannot be looked at. */
function readStat(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

export const isSameFile = (one: Stats | undefined, two: Stats | undefined) =>
  one !== undefined && one.ino === two?.ino && one.dev === two.dev;

export const isWritten = (before: Stats | undefined, after: Stats | undefined) =>
  before?.mtimeMs !== after?.mtimeMs || before?.size !== after?.size;

export function refuseMissing(path: string): void {
  if (existsSync(path)) return;
  if (!existsSync(dirname(path)))
    throw new StoreError(`${path} cannot be opened: its folder does not exist.`);
  throw new NoDataError(`${path} does not exist: \`vitrine import\` creates it.`);
}

/** Opening a pipe waits for its other end, and a device may never end. */
export function refuseOddFile(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new StoreError(`${path} is a folder.`);
  if (stats !== undefined && !stats.isFile()) throw new StoreError(`${path} is not a regular file.`);
}

/** 'VITR' marks a file as ours. */
export const APPLICATION_ID = 0x56495452;
/** 'VITF': during the first import, which has a journal beside the file. */
export const FIRST_IMPORT_ID = 0x56495446;

/** A reader would wait for its lock, and those that a killed one has left are undone by the next import. */
export function refuseFirstImport(path: string): void {
  if (existsSync(`${path}-journal`) && isFirstImport(readStart(path, 72)))
    throw new NoDataError(
      `${path} is being imported into: if that was interrupted, run \`vitrine import\` again.`,
    );
}

const isFirstImport = (header: Buffer) => header.length >= 72 && header.readUInt32BE(68) === FIRST_IMPORT_ID;

/** In the last bit, a log says which byte order its checksums have. */
const LOG_MAGIC = 0x377f0683;

/**
 * SQLite lays a log over whatever file it lies beside, also over one that was restored after a crash. A log belongs to
 * another file if this one is not in WAL mode, as a snapshot is not, or has pages of another size. A copy in WAL mode tells
 * nothing: made before the log's first change, it is byte for byte the file that the log belongs to. Not to be called
 * while this process has the file open.
 */
export function refuseForeignLog(path: string): void {
  refuseForeignJournal(path);
  const log = readStart(`${path}-wal`, 12);
  // SQLite does not read what is no log, such as the zeros that a power failure leaves.
  if (log.length < 12 || (log.readUInt32BE(0) | 1) !== LOG_MAGIC) return;
  // Read after the log: a file is in WAL mode before it has one.
  const header = readStart(path, 20);
  if (header.length < 20) return;
  const isInWalMode = header[18] === 2 && header[19] === 2;
  if (isInWalMode && log.readUInt32BE(8) === pageSize(header)) return;
  // A file that leaves WAL mode meanwhile has lost its log before.
  if (readStart(`${path}-wal`, 12).equals(log)) throw new StoreError(foreignLog(path));
}

const JOURNAL_MAGIC = 'd9d505f920a163d7';
/** When a first import ends, its mark goes, with a journal that lives for a moment. */
const JOURNAL_MS = 5000;

/** The same of the journal of a first import that was killed: SQLite would cut another file to the size of an empty one. */
function refuseForeignJournal(path: string): void {
  const journal = `${path}-journal`;
  if (readStart(journal, 8).toString('hex') !== JOURNAL_MAGIC) return;
  const header = readStart(path, 72);
  if (header.length < 72 || isFirstImport(header)) return;
  const isOld = Date.now() - (readStat(journal)?.mtimeMs ?? Number.NaN) > JOURNAL_MS;
  if (isOld && isOfFirstImport(journal))
    throw new StoreError(`${journal} is of another file, which was at ${path} before: move ${journal} away.`);
}

/** More than the pages that a first import changes. */
const MOST_JOURNAL = 4 * 1024 * 1024;

/** A journal holds pages as they were before. Any other than that of a first import is left of a write to this file. */
function isOfFirstImport(journal: string): boolean {
  const pages = readStart(journal, MOST_JOURNAL);
  const [sector, size] = [pages.readUInt32BE(20), pages.readUInt32BE(24)];
  for (let at = sector; at + size + 8 <= pages.length; at += size + 8)
    if (pages.readUInt32BE(at) === 1) return isFirstImport(pages.subarray(at + 4, at + 4 + size));
  return false;
}

/** Nothing is lost with what is moved away: another program may have written to the new file by the old log. */
const foreignLog = (path: string) =>
  `${path}-wal holds changes to another file, which was at ${path} before: move ${path}-wal and ${path}-shm away, and repeat the takedowns since ${path} was made.`;

function pageSize(header: Buffer): number {
  const size = header.readUInt16BE(16);
  return size === 1 ? 65_536 : size;
}

/** SQLite reads what a broken copy lacks of its last page as zeros. Not to be called while this process has the file open. */
export function refuseCutOff(path: string): void {
  const header = readStart(path, 20);
  if (header.toString('latin1', 0, 15) !== 'SQLite format 3' || (readStat(`${path}-wal`)?.size ?? 0) > 0)
    return;
  if (statSync(path).size % pageSize(header) > 0)
    throw new StoreError(`${path} is damaged: it ends within a page.`);
}

/** Commits to the file that was replaced are not read into the new one. */
export function refuseOldLog(path: string, found: FileStats, served: FileStats): void {
  if (isSameFile(found.log, served.log) && (found.log?.size ?? 0) > 0) throw new StoreError(foreignLog(path));
}

/** Removes what lies beside a file that was replaced, so that SQLite does not read it into the new one. */
export function removeOldLog(path: string, found: FileStats, served: FileStats): void {
  if (isSameFile(found.log, served.log)) rmSync(`${path}-wal`, { force: true });
  if (isSameFile(found.index, served.index)) rmSync(`${path}-shm`, { force: true });
}

/**
 * A link to a file that took the place of a served one, in a folder of its own: it is opened there without the log and index
 * that lie at its path, which are still those of the served file. Undefined where no link can be made, as to a file of another
 * user (fs.protected_hardlinks), on some file systems and in folders that cannot be written.
 */
export function linkAside(path: string, found: FileStats, served: FileStats): AsideLink | undefined {
  const folder = nameUnfinished(path);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    mkdirSync(folder, { mode: 0o700 });
    const link = join(folder, basename(path));
    linkSync(realpathSync(path), link);
    // It may have come with a log of its own.
    if (found.log !== undefined && !isSameFile(found.log, served.log)) linkSync(`${path}-wal`, `${link}-wal`);
    return { path: link, [Symbol.dispose]: remove };
  } catch {
    remove();
    return undefined;
  }
}

export interface AsideLink extends Disposable {
  readonly path: string;
}

/** Less, or nothing, where there is no such file. */
function readStart(path: string, length: number): Buffer {
  const start = Buffer.alloc(length);
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return start.subarray(0, 0);
  try {
    const file = openSync(path, 'r');
    try {
      return start.subarray(0, readSync(file, start, 0, length, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    // SQLite says why the file cannot be read.
    return start.subarray(0, 0);
  }
}
