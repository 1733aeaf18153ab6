// What lies at the path of a database: the file, and the log and index that SQLite keeps beside it.
import { closeSync, existsSync, openSync, readSync, rmSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { NoDataError, StoreError } from '../errors.ts';

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

/** Whether a file was written to. */
export const isWritten = (before: Stats | undefined, after: Stats | undefined) =>
  before?.mtimeMs !== after?.mtimeMs || before?.size !== after?.size;

/** Changes when the files do, their contents or their permissions. An empty log comes and goes with each reader. */
export const signature = ({ database, log }: FileStats) =>
  [database, log !== undefined && log.size > 0 ? log : undefined]
    .map((stats) => stats && `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`)
    .join();

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

/** In the last bit, a log says which byte order its checksums have. */
const LOG_MAGIC = 0x377f0683;

/**
 * SQLite lays a log over whatever file it lies beside, also over one that was restored after a crash. A log belongs to
 * another file if this one is not in WAL mode, as a snapshot is not, or has pages of another size. A copy in WAL mode tells
 * nothing: made before the log's first change, it is byte for byte the file that the log belongs to. Not to be called
 * while this process has the file open.
 */
export function refuseForeignLog(path: string): void {
  const log = readStart(`${path}-wal`, 12);
  // SQLite does not read what is no log, such as the zeros that a power failure leaves.
  if (log.length < 12 || (log.readUInt32BE(0) | 1) !== LOG_MAGIC) return;
  // Read after the log: a file is in WAL mode before it has one.
  const header = readStart(path, 20);
  if (header.length < 20) return;
  const pageSize = header.readUInt16BE(16);
  const isInWalMode = header[18] === 2 && header[19] === 2;
  if (isInWalMode && log.readUInt32BE(8) === (pageSize === 1 ? 65_536 : pageSize)) return;
  throw new StoreError(foreignLog(path));
}

const foreignLog = (path: string) =>
  `${path}-wal holds changes to another file, which was at ${path} before: remove ${path}-wal and ${path}-shm.`;

/** Removes what lies beside a file that was replaced, so that SQLite does not read it into the new one. */
export function removeLeftovers(path: string, found: FileStats, served: FileStats): void {
  const isLogLeft = isSameFile(found.log, served.log);
  if (isLogLeft && (found.log?.size ?? 0) > 0) throw new StoreError(foreignLog(path));
  if (isLogLeft) rmSync(`${path}-wal`, { force: true });
  if (isSameFile(found.index, served.index)) rmSync(`${path}-shm`, { force: true });
  refuseForeignLog(path);
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
