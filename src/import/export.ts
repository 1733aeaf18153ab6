// The store's records -> NDJSON, exactly as they were imported, or as they are served.
import { createWriteStream } from 'node:fs';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { OutputError, openOutput, outputError, writeToStdout } from '../stores/output.ts';

const CHUNK_LENGTH = 256 * 1024;

interface RecordSource {
  records(withCopies: boolean): AsyncIterable<string>;
}

/** Every record, one a line, in chunks that are worth a write. */
async function* exportLines(
  source: RecordSource,
  { withCopies, onProgress }: Pick<ExportOptions, 'withCopies' | 'onProgress'>,
): AsyncGenerator<string> {
  let chunk = '';
  let done = 0;
  for await (const record of source.records(withCopies)) {
    chunk += `${record}\n`;
    done++;
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
    onProgress?.(done);
    // The store answers at once: without this, signals would wait for the end.
    await nextTurn();
  }
  if (chunk !== '') yield chunk;
}

interface LinesOptions {
  /** Undefined: standard output. */
  readonly file: string | undefined;
  readonly stdout: Writable;
  readonly signal?: AbortSignal;
}

interface ExportOptions extends LinesOptions {
  /** Whether pictures are named by the addresses of their copies. */
  readonly withCopies: boolean;
  /** Called with the number of records that were written so far. */
  readonly onProgress?: ((done: number) => void) | undefined;
}

export const writeExport = (source: RecordSource, options: ExportOptions) =>
  writeLines(
    Readable.from(exportLines(source, options), { objectMode: false, highWaterMark: 1 << 20 }),
    options,
  );

/** Writes lines to a file, which appears when it is whole, or to standard output. */
export async function writeLines(lines: Readable, options: LinesOptions): Promise<void> {
  const { file, stdout, signal } = options;
  const isStdout = file === undefined;
  await (isStdout ? writeToStdout(lines, stdout, signal) : writeToFile(lines, file, signal)).catch(
    (error) => {
      const left = isStdout ? 'the output is not complete' : `${file} was not written`;
      throw signal?.aborted ? new OutputError(`stopped: ${left}`) : error;
    },
  );
}

async function writeToFile(lines: Readable, file: string, signal: AbortSignal | undefined): Promise<void> {
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
