// Unpacks gzip, with a sentence for data that is cut off or corrupt.
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { FormatError } from './entry.ts';

const CHUNK_BYTES = 256 * 1024;

export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b;
}

export async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
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
