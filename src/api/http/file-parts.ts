// Reads files in parts, each with an open of its own: clients that read slowly hold no descriptors, of which the
// connections may have taken all but few, and no more memory than a part.

import { constants, type Stats } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { errorCode } from '../../records/thrown.ts';

/** Most pictures of a list are one part. */
const WHOLE_BYTES = 64 * 1024;
/** Of a larger one, each client that does not read holds a part: 1,000 of them must fit into 128 MB. */
const PART_BYTES = 16 * 1024;
/** Files open at a time. Node reads four at a time. */
const MOST_OPEN = 16;

/** Undefined if there is no such file. */
export async function findFile(path: string): Promise<Stats | undefined> {
  try {
    const found = await lstat(path);
    return found.isFile() ? found : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export const isMissing = (error: unknown) => ['ENOENT', 'ENOTDIR'].includes(errorCode(error));

/**
 * The bytes of a file from `start` to `end`, part by part. Each part overwrites the one before: with buffers of their own,
 * the garbage of 1,000 clients that fill the system's buffers ended a server with 128 MB.
 */
export async function* readParts(path: string, { start, end }: ByteRange): AsyncGenerator<Buffer> {
  const isWhole = end - start < WHOLE_BYTES;
  const buffer = Buffer.allocUnsafeSlow(isWhole ? end - start + 1 : PART_BYTES);
  for (let at = start; at <= end; ) {
    const part = await withFileSlot(() => readPart(path, at, buffer.subarray(0, end - at + 1)));
    if (part.length === 0) throw new Error(`${path} has become shorter while it was sent`);
    yield part;
    at += part.length;
  }
}

export const readWhole = (path: string, size: number) =>
  withFileSlot(() => readPart(path, 0, Buffer.allocUnsafeSlow(size)));

async function readPart(path: string, start: number, into: Buffer): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { bytesRead } = await file.read(into, 0, into.length, start);
    return into.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

const waiting: (() => void)[] = [];
let places = MOST_OPEN;

async function withFileSlot<T>(task: () => Promise<T>): Promise<T> {
  if (places > 0) places--;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await task();
  } finally {
    // The next one that waits takes over the place.
    const next = waiting.shift();
    if (next === undefined) places++;
    else next();
  }
}

// Range and If-Range (RFC 9110, 14.2 and 13.1.5): one range of bytes. Several ranges, and what is malformed, are ignored,
// which the standard allows.

export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/** What to send of a file: a range of it, the whole if undefined, or nothing since it has no such bytes. */
export function parseRange(
  { range, 'if-range': ifRange }: IncomingHttpHeaders,
  etag: string,
  size: number,
): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = RANGE.exec(range ?? '') ?? [];
  if (first + last === '' || (ifRange !== undefined && ifRange !== etag)) return undefined;
  const fromEnd = first === '';
  const start = fromEnd ? Math.max(size - Number(last), 0) : Number(first);
  const end = fromEnd || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (!fromEnd && last !== '' && Number(last) < start) return undefined;
  return start > end ? 'unsatisfiable' : { start, end };
}
