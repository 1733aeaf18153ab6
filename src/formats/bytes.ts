// The bytes of a file as UTF-8: looking at the first ones, unpacking gzip, and decoding text of another encoding.
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
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

  /** The whole stream, head included, without so many bytes at its beginning. */
  async function* from(skipped: number) {
    try {
      yield head.subarray(skipped);
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  }

  return { head, from };
}

const GZIP = '1f8b';
/** Byte order marks. */
const UTF16 = { fffe: 'utf-16le', feff: 'utf-16be' };

/** The unpacked file as UTF-8. */
export async function openText(
  chunks: AsyncIterable<Buffer>,
  encoding?: string,
): Promise<AsyncIterable<Buffer>> {
  const file = await peekAtMark(chunks);
  const text = file.mark === GZIP ? await peekAtMark(gunzip(file.from(0))) : file;
  const found = encoding ?? UTF16[text.mark as keyof typeof UTF16];
  return found === undefined ? text.from(0) : transcode(text.from(0), found);
}

async function peekAtMark(chunks: AsyncIterable<Buffer>) {
  const { head, from } = await peek(chunks, ({ length }) => length >= 2);
  return { mark: head.toString('hex', 0, 2), from };
}

const CHUNK_BYTES = 256 * 1024;

/** A sentence says if the data is corrupt or cut off. */
async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const unpacked = createGunzip({ chunkSize: CHUNK_BYTES });
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

async function* transcode(chunks: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
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
