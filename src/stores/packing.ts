// Texts that are served compressed: each is compressed once, when it is stored, and stands packed beside its text.
//
// B and C serve one list as the member of two objects. So a text is packed as deflate blocks without an end, and its CRC-32
// and length as at the end of a gzip file: a gzip body is made of them, of stored blocks with what stands before and after
// the text, and of a CRC-32 that is computed from those of the parts. This costs 40 bytes and 2 µs for each body, and saves
// a packed copy of each list for each name.
import { constants, crc32, deflateRawSync, gunzipSync } from 'node:zlib';

/** Bytes: a shorter text is sent as it is. */
export const PACKED_FROM = 1024;
/** Higher levels make 2 to 6% less of such texts, for up to twice the CPU. */
const OPTIONS = { level: 4, finishFlush: constants.Z_SYNC_FLUSH };
const TRAILER_BYTES = 8;

/** At once: handing a text to zlib's threads costs four times the CPU of compressing it, and takes longer. */
export function pack(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([deflateRawSync(bytes, OPTIONS), trailer(crc32(bytes), bytes.length)]);
}

/** Whether what is sent of `packed` is this text. */
export function isPacked(packed: Buffer, text: string): boolean {
  try {
    return gunzipSync(gzipText(packed)).equals(Buffer.from(text));
  } catch {
    return false;
  }
}

function trailer(crc: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(TRAILER_BYTES);
  bytes.writeUInt32LE(crc, 0);
  bytes.writeUInt32LE(length, 4);
  return bytes;
}

const HEADER = Buffer.from('1f8b08000000000000ff', 'hex');

/** A block that is not compressed (RFC 1951, 3.2.4), where the one before ended at a byte. */
function storedBlock(bytes: Buffer, isLast: boolean): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(isLast ? 1 : 0, 0);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(bytes.length ^ 0xffff, 3);
  return Buffer.concat([head, bytes]);
}

/** Makes gzip bodies (RFC 1952) of packed texts, with the same text before and after each. */
export function createGzip(before: string, after: string) {
  const [first, last] = [Buffer.from(before), Buffer.from(after)];
  const start = first.length === 0 ? HEADER : Buffer.concat([HEADER, storedBlock(first, false)]);
  const end = storedBlock(last, true);
  const [firstCrc, lastCrc] = [crc32(first), crc32(last)];

  return (packed: Buffer): Buffer => {
    const blocks = packed.length - TRAILER_BYTES;
    const length = packed.readUInt32LE(blocks + 4);
    const crc = joinCrcs(joinCrcs(firstCrc, packed.readUInt32LE(blocks), length), lastCrc, last.length);
    const body = Buffer.allocUnsafe(start.length + blocks + end.length + TRAILER_BYTES);
    start.copy(body);
    packed.copy(body, start.length, 0, blocks);
    end.copy(body, start.length + blocks);
    body.writeUInt32LE(crc, body.length - 8);
    body.writeUInt32LE(first.length + length + last.length, body.length - 4);
    return body;
  };
}

export type Gzip = ReturnType<typeof createGzip>;

/** A text by itself. */
export const gzipText = createGzip('', '');

const gzipLists = new Map<string, Gzip>();

/** A list as the one member of an object. */
export function gzipList(collection: string): Gzip {
  const gzip = gzipLists.get(collection) ?? createGzip(`{"${collection}":`, '}');
  gzipLists.set(collection, gzip);
  return gzip;
}

const CRC_POLYNOMIAL = 0xedb88320;

/** The product of two polynomials modulo that of CRC-32, whose bits are reflected. */
function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = 31; bit >= 0; bit--) {
    if ((a >>> bit) & 1) product ^= b;
    b = b & 1 ? (b >>> 1) ^ CRC_POLYNOMIAL : b >>> 1;
  }
  return product >>> 0;
}

/** x to the power of 8 · 2^n: what a CRC is multiplied by for 2^n bytes that follow. */
const SHIFTS = [0x00800000];
for (let n = 1; n < 32; n++) SHIFTS.push(multiply(SHIFTS[n - 1] as number, SHIFTS[n - 1] as number));

/** The CRC-32 of two texts in a row, from theirs, as zlib's crc32_combine makes it. */
function joinCrcs(crc: number, next: number, nextLength: number): number {
  let shifted = crc;
  for (let n = 0; n < SHIFTS.length; n++)
    if ((nextLength >>> n) & 1) shifted = multiply(SHIFTS[n] as number, shifted);
  return (shifted ^ next) >>> 0;
}
