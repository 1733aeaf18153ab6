// The bytes of a file: looking at the first ones, unpacking gzip, and decoding text that is not UTF-8.
import { pipeline } from 'node:stream';
import { constants, createGunzip } from 'node:zlib';
import { FormatError } from './entry.ts';

/** Reads until `isEnough` accepts the head, or to the end. */
export async function peek(chunks: AsyncIterable<Buffer>, isEnough: (head: Buffer) => boolean) {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (!isEnough(head)) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }

  async function close() {
    await iterator.return?.();
  }

  /** The whole stream, head included, without so many bytes at its beginning. */
  async function* from(skipped: number) {
    try {
      yield head.subarray(skipped);
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await close();
    }
  }

  return { head, from, close };
}

const CHUNK_BYTES = 256 * 1024;

export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b;
}

/** A sentence says if the data is corrupt, or cut off where it must not be. */
export async function* gunzip(chunks: AsyncIterable<Buffer>, mayBeCut = false): AsyncGenerator<Buffer> {
  const finishFlush = mayBeCut ? constants.Z_SYNC_FLUSH : constants.Z_FINISH;
  const unpacked = createGunzip({ chunkSize: CHUNK_BYTES, finishFlush });
  // Errors reach the loop below as well, and are handled there.
  pipeline(chunks, unpacked, () => {});
  try {
    yield* unpacked;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'Z_BUF_ERROR') throw new FormatError('the gzip data ends too early: the file is cut off');
    if (code.startsWith('Z_'))
      throw new FormatError('the gzip data is corrupt: make or fetch the file again');
    throw error;
  }
}

/** Text of another encoding as UTF-8. */
export async function* transcode(chunks: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const decode = (chunk?: Buffer) => {
    try {
      return Buffer.from(decoder.decode(chunk, { stream: chunk !== undefined }));
    } catch {
      throw new FormatError(`the text is not ${decoder.encoding}`);
    }
  };
  for await (const chunk of chunks) yield decode(chunk);
  yield decode();
}
