// The store's records -> NDJSON, exactly as they were imported, or as they are served.
import { createWriteStream, fstatSync } from 'node:fs';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { openOutput, outputError } from '../files/output.ts';

const CHUNK_LENGTH = 256 * 1024;

interface RecordSource {
  records(withCopies: boolean): AsyncIterable<string>;
}

/** Every record, one a line, in chunks that are worth a write. */
export async function* exportLines(source: RecordSource, withCopies: boolean): AsyncGenerator<string> {
  let chunk = '';
  for await (const record of source.records(withCopies)) {
    chunk += `${record}\n`;
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

interface ExportOptions {
  /** None or `-`: standard output. */
  readonly file: string | undefined;
  /** Whether pictures are named by the addresses of their copies. */
  readonly withCopies: boolean;
  readonly stdout: Writable;
  readonly signal?: AbortSignal;
}

/** Writes every record to a file, which appears when it is whole, or to standard output. */
export async function writeExport(
  source: RecordSource,
  { file, withCopies, stdout, signal }: ExportOptions,
): Promise<void> {
  const lines = Readable.from(exportLines(source, withCopies), { objectMode: false, highWaterMark: 1 << 20 });
  if (file === undefined || file === '-') return await writeToStdout(lines, stdout, signal);
  const output = openOutput(file);
  try {
    const out = createWriteStream(output.path, { flags: output.flags, mode: output.mode });
    await (file.endsWith('.gz')
      ? pipeline(lines, createGzip(), out, { signal })
      : pipeline(lines, out, { signal }));
    output.commit();
  } catch (error) {
    throw outputError(file, error);
  } finally {
    output.discard();
  }
}

type Stdout = Writable & { readonly fd?: number; readonly isTTY?: boolean };

/** Keeps pace with whoever reads. */
export async function writeToStdout(lines: Readable, stdout: Stdout, signal?: AbortSignal): Promise<void> {
  try {
    const file = findDescriptor(stdout);
    // Node's own stream takes a partial write, as on a disk that is almost full, for a whole one.
    if (file !== undefined)
      await pipeline(lines, createWriteStream('', { fd: file, autoClose: false }), { signal });
    else await pipeline(lines, stdout, { end: false, signal });
  } catch (error) {
    throw outputError('to standard output', error);
  }
}

/** The descriptor, if standard output is neither a terminal nor a pipe. */
function findDescriptor({ fd, isTTY }: Stdout): number | undefined {
  if (fd === undefined || isTTY) return undefined;
  const stats = fstatSync(fd);
  return stats.isFIFO() || stats.isSocket() ? undefined : fd;
}
