// What is served compressed is compressed once, when it is stored: whole gzip bodies. A list is stored in no other form, once
// for each name that it has, and unpacked for clients that do not accept gzip (11 µs for 6 KB; npm run bench).
import { gunzipSync, gzipSync } from 'node:zlib';
import { StoreError } from '../errors.ts';
import type { Answer } from '../reader.ts';

/** Bytes: a shorter text is sent as it is. */
export const PACKED_FROM = 1024;

/**
 * Higher levels make 1 to 2% less of such texts for a third more CPU. At once: handing a text to zlib's threads costs four
 * times the CPU of compressing it, and takes longer.
 */
export function pack(text: string | Buffer): Buffer {
  // zlib's usual buffers of 256 KB for each text make Node collect the whole heap again and again. The result is the same.
  const isSmall = Buffer.byteLength(text) <= 2 ** SMALL_WINDOW;
  return gzipSync(text, { level: 3, ...(isSmall && SMALL) });
}

const SMALL_WINDOW = 13;
const SMALL = { windowBits: SMALL_WINDOW, memLevel: 6, chunkSize: 4096 };

const isLong = (text: string | Buffer) => Buffer.byteLength(text) >= PACKED_FROM;

/** A body as it is stored. No JSON text begins with the byte that gzip begins with. */
export const makeBody = (text: string | Buffer): Buffer => (isLong(text) ? pack(text) : Buffer.from(text));
const GZIP_BYTE = 0x1f;

/** The text of a stored body; undefined if it is damaged, or compressed though it is short. */
export function readBody(body: Buffer): string | undefined {
  try {
    const isPacked = body[0] === GZIP_BYTE;
    const text = (isPacked ? gunzipSync(body) : body).toString();
    return isPacked === isLong(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

/** `body` is null for a client that has it. */
export function answerWith(etag: string, body: Buffer | null, isPacked: boolean, gzip: boolean): Answer {
  if (!isPacked) return { etag, body };
  return gzip ? { etag, body, isGzip: true } : { etag, body: body && unpack(body) };
}

const MOST_AT_ONCE = 2 ** 20;

/** With one buffer of its size, the usual list costs 12 µs instead of 18. */
function unpack(body: Buffer): Buffer {
  try {
    return gunzipSync(body, { chunkSize: Math.min(unpackedSize(body), MOST_AT_ONCE) + 64 });
  } catch (error) {
    throw new StoreError('A stored answer is damaged: run vitrine check.', { cause: error });
  }
}

/** The bytes of a stored body when it is unpacked: the last four of a packed one tell. */
export const unpackedSize = (body: Buffer): number =>
  body[0] === GZIP_BYTE ? body.readUInt32LE(body.length - 4) : body.length;

/** The text of a stored body. */
export const unpackedText = (body: Buffer): string => String(body[0] === GZIP_BYTE ? unpack(body) : body);
