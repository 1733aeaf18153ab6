// What is left of deleted data in a file. With `secure_delete`, SQLite overwrites what it deletes. But when it moves rows to
// another page it leaves copies of them in the gap between the pointers and the rows of the first one: those are overwritten
// here. Nothing reads a gap, so neither readers nor a crash can see half of this.

import { fstatSync, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorCode, errorMessage } from '../../records/thrown.ts';
import type { ShareListener } from '../sql/unnamed-media.ts';
import type { StepListener } from '../steps.ts';
import type { OpenDatabase } from './connect.ts';
import { emptyLog } from './log.ts';

/** Bytes that are looked through while no other writer comes in between. */
const SLICE = 4 * 1024 * 1024;
/** One for all slices: what lies outside of the heap is collected late. */
const slice = Buffer.alloc(SLICE);

const BUSY = 'another process, such as an export, is reading it, or the disk is full';

/** Overwrites what is left of deleted data. If that is not possible, a sentence says what stays, and why. */
export async function eraseTraces(
  db: OpenDatabase,
  path: string,
  onShare: ShareListener = () => {},
): Promise<string | undefined> {
  try {
    for (let at: number | undefined = 0; at !== undefined; ) {
      // Until the log is in the file, it holds pages as they were.
      if (!emptyLog(db)) return `${path} still holds deleted data in unused space: ${BUSY}.`;
      at = eraseSlice(db, path, at, onShare);
      await nextTurn();
    }
    return undefined;
  } catch (error) {
    return `${path} still holds deleted data in unused space: ${errorMessage(error)}.`;
  }
}

/** Where the next slice begins; the same place if another writer came first. Undefined at the end. */
function eraseSlice(db: OpenDatabase, path: string, at: number, onShare: ShareListener): number | undefined {
  db.exec('BEGIN IMMEDIATE');
  try {
    // With an empty log and no other writer, no page of the file is written until the transaction ends.
    if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return at;
    const file = openRaw(path);
    const { size } = fstatSync(file);
    const pageSize = Number(db.pragma('page_size', { simple: true }));
    if (size >= MOST_PAGES * pageSize) throw new Error('so large a file must be compacted for that');
    const bytes = slice.subarray(0, Math.min(SLICE, size - at));
    readSync(file, bytes, 0, bytes.length, at);
    eraseGaps(file, bytes, at, pageSize);
    onShare(size === 0 ? 1 : (at + bytes.length) / size);
    if (at + bytes.length < size) return at + bytes.length;
    fsyncSync(file);
    return undefined;
  } finally {
    db.exec('ROLLBACK');
  }
}

function eraseGaps(file: number, bytes: Buffer, at: number, pageSize: number): void {
  const zeros = Buffer.alloc(pageSize);
  for (let start = 0; start < bytes.length; start += pageSize) {
    const [from, to] = findGap(bytes.subarray(start, start + pageSize), at + start === 0);
    if (from >= to || bytes.subarray(start + from, start + to).equals(zeros.subarray(from, to))) continue;
    writeSync(file, zeros, 0, to - from, at + start + from);
  }
}

/**
 * The lengths of the head of a page, by its first byte. A page of another kind begins with the number of a page, so its first
 * byte is less than 2 while there are fewer pages than MOST_PAGES.
 */
const HEADS: Readonly<Record<number, number>> = { 2: 12, 5: 12, 10: 8, 13: 8 };
const FILE_HEAD = 100;
const MOST_PAGES = 2 ** 25;

/** The bytes of a page between its pointers and its rows. */
export function findGap(page: Buffer, isFirst: boolean): [from: number, to: number] {
  const start = isFirst ? FILE_HEAD : 0;
  const head = HEADS[page[start] ?? 0];
  if (head === undefined) return [0, 0];
  const from = start + head + 2 * page.readUInt16BE(start + 3);
  const to = page.readUInt16BE(start + 5) || 65_536;
  return to <= page.length ? [from, to] : [0, 0];
}

const raw = new Map<string, number>();

/** Stays open until the process ends: when a process closes a file that SQLite has open as well, SQLite loses its locks. */
function openRaw(path: string): number {
  const { dev, ino } = statSync(path);
  const key = `${dev} ${ino}`;
  const file = raw.get(key) ?? openSync(path, 'r+');
  raw.set(key, file);
  return file;
}

const HOLDS_TRACES = 'SELECT holds_traces FROM vitrine';

/** Undefined unless a version before 1.3 has written the file, or if that cannot be read: what was done before is done. */
export function describeTraces(db: OpenDatabase, path: string): string | undefined {
  try {
    if (db.prepare(HOLDS_TRACES).pluck().get() !== 1) return undefined;
    return `${path} was written by a version before 1.3, which left deleted data in unused space: \`vitrine migrate --compact\` erases that once and for all.`;
  } catch {
    return undefined;
  }
}

/** Writes the whole file anew, without its unused space. */
export async function compact(
  db: OpenDatabase,
  path: string,
  onStep: StepListener,
): Promise<string | undefined> {
  onStep('writing the file anew', { bytes: statSync(path).size });
  const reason = rewrite(db);
  if (reason !== undefined) return `${path} could not be written anew: ${reason}.`;
  const left = await eraseTraces(db, path, (share) =>
    onStep(`erasing deleted data: ${Math.floor(share * 100)}%`),
  );
  if (left === undefined) db.exec('UPDATE vitrine SET holds_traces = 0');
  emptyLog(db);
  return left;
}

/** Why it was not possible. */
function rewrite(db: OpenDatabase): string | undefined {
  try {
    db.exec('VACUUM');
    return undefined;
  } catch (error) {
    const [code, message] = [errorCode(error), errorMessage(error)];
    if (code.startsWith('SQLITE_FULL')) return 'this needs twice as much free disk space as the file has';
    if (code.startsWith('SQLITE_BUSY')) return 'another process is writing it';
    return message;
  }
}
