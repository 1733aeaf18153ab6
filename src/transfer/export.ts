// The store's records -> NDJSON, exactly as they are served.
import { createWriteStream, fstatSync } from 'node:fs';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Reader } from '../stores/store.ts';
import { openOutput, outputError } from './output.ts';

const CHUNK_LENGTH = 256 * 1024;

type RecordSource = Pick<Reader, 'records'>;

/** Every record, one a line, in chunks that are worth a write. */
export async function* exportLines(reader: RecordSource): AsyncGenerator<string> {
  let chunk = '';
  for await (const record of reader.records()) {
    chunk += `${record}\n`;
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

/** Writes every record to a file, which appears when it is whole, or to standard output. */
export async function writeExport(
  reader: RecordSource,
  file: string | undefined,
  stdout: Writable,
): Promise<void> {
  const lines = Readable.from(exportLines(reader), { objectMode: false, highWaterMark: 1 << 20 });
  if (file === undefined || file === '-') return await writeToStdout(lines, stdout);
  const output = openOutput(file);
  try {
    const out = createWriteStream(output.path, { flush: output.isRegular, mode: output.mode });
    await (file.endsWith('.gz') ? pipeline(lines, createGzip(), out) : pipeline(lines, out));
    output.commit();
  } catch (error) {
    throw outputError(file, error);
  } finally {
    output.discard();
  }
}

async function writeToStdout(lines: Readable, stdout: Writable & { readonly fd?: number }): Promise<void> {
  try {
    // Node's own stream to a file takes a partial write, as on a disk that is almost full, for a whole one.
    const out = isFile(stdout.fd) ? createWriteStream('', { fd: stdout.fd, autoClose: false }) : stdout;
    await pipeline(lines, out, { end: out !== stdout });
  } catch (error) {
    throw outputError('to standard output', error);
  }
}

function isFile(fd: number | undefined): fd is number {
  return fd !== undefined && fstatSync(fd).isFile();
}
