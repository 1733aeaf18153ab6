// The gaps in the pages of a file, between the pointers and the rows. When SQLite moves rows to another page, copies of them
// stay there, also with `secure_delete`. Nothing reads a gap, so neither readers nor a crash can see one that is half erased.

import { fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import type { OpenDatabase } from './connect.ts';
import { logSize } from './log.ts';

/** Bytes that are looked through while no other writer comes in between. */
const SLICE = 4 * 1024 * 1024;
/** One for all slices: what lies outside of the heap is collected late. */
const slice = Buffer.alloc(SLICE);

/**
 * Erases the gaps of a slice of pages, from one on. Returns where to go on: at the same page if the log is not empty, since it
 * holds pages as they were. Undefined at the end.
 */
export function eraseGaps(db: OpenDatabase, path: string, from: number): number | undefined {
  db.exec('BEGIN IMMEDIATE');
  try {
    // With an empty log and no other writer, no page of the file is written until the transaction ends.
    if (logSize(path) > 0) return from;
    const pageSize = Number(db.pragma('page_size', { simple: true }));
    const count = Number(db.pragma('page_count', { simple: true }));
    if (count >= MOST_PAGES) throw new Error('so large a file must be compacted for that');
    const file = openRaw(path);
    const end = Math.min(from + SLICE / pageSize, count + 1);
    if (eraseRun(file, from, end, pageSize)) fsyncSync(file);
    return end > count ? undefined : end;
  } finally {
    db.exec('ROLLBACK');
  }
}

/** Pages that follow each other; whether something was erased. */
function eraseRun(file: number, first: number, end: number, pageSize: number): boolean {
  const at = (first - 1) * pageSize;
  const bytes = slice.subarray(0, readSync(file, slice, 0, (end - first) * pageSize, at));
  const zeros = Buffer.alloc(pageSize);
  let isErased = false;
  for (let start = 0; start < bytes.length; start += pageSize) {
    const [from, to] = findGap(bytes.subarray(start, start + pageSize), at + start === 0);
    if (from >= to || bytes.subarray(start + from, start + to).equals(zeros.subarray(from, to))) continue;
    writeSync(file, zeros, 0, to - from, at + start + from);
    isErased = true;
  }
  return isErased;
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
