// The store's records -> NDJSON, as they are served.
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Reader } from '../stores/store.ts';

const CHUNK = 256 * 1024;

/** Every record, a line each, in chunks that are worth writing. */
export async function* exportLines(reader: Pick<Reader, 'records'>): AsyncGenerator<string> {
  let chunk = '';
  for await (const record of reader.records()) {
    chunk += `${record}\n`;
    if (chunk.length < CHUNK) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

/** Writes every record to a file, which appears when it is whole, or to standard output. */
export async function writeExport(
  reader: Pick<Reader, 'records'>,
  file: string | undefined,
  stdout: Writable,
): Promise<void> {
  const lines = Readable.from(exportLines(reader), { objectMode: false, highWaterMark: 1 << 20 });
  if (file === undefined || file === '-') return await pipeline(lines, stdout, { end: false });
  const unfinished = `${file}.unfinished`;
  try {
    const out = createWriteStream(unfinished, { flush: true });
    await (file.endsWith('.gz') ? pipeline(lines, createGzip(), out) : pipeline(lines, out));
    await rename(unfinished, file);
  } finally {
    await rm(unfinished, { force: true });
  }
}
