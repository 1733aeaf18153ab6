// Files -> records in the store: all of them, or none, or the good ones.
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { KINDS } from '../records/kinds.ts';
import { normalise } from '../records/normalise.ts';
import type { Load, Misfit, Tallies, Writer } from '../stores/store.ts';
import { type Found, readRecords } from './formats.ts';

export interface ImportOptions {
  /** Paths; `-` is standard input. */
  readonly files: readonly string[];
  readonly stdin: AsyncIterable<Buffer>;
  readonly replace: boolean;
  readonly skipInvalid: boolean;
  /** Where the bad ones are written, as they were. */
  readonly rejects?: string;
  readonly onProgress: (progress: Progress) => void;
  /** Told of the first faults, each `FILE:LINE: member: what is wrong, got "…"`. */
  readonly onFault: (line: string) => void;
}

export interface Progress {
  readonly phase: 'reading' | 'writing';
  readonly bytes: number;
  /** Unknown while standard input is among the files. */
  readonly totalBytes: number | undefined;
  readonly records: number;
}

export interface ImportResult {
  /** Undefined when nothing landed. */
  readonly tallies: Tallies | undefined;
  readonly faulty: number;
  readonly records: number;
}

const FAULTS_SHOWN = 20;
/** Line numbers stay below; the file's number stands above. */
const LINES = 2 ** 40;

export async function importFiles(writer: Writer, options: ImportOptions): Promise<ImportResult> {
  const { files, replace, skipInvalid } = options;
  const totalBytes = await sizeOf(files);
  const rejects = options.rejects === undefined ? undefined : openRejects(options.rejects);
  const faults = faultReporter(options, rejects);
  const load = await writer.load({ replace, skipInvalid, onMisfit: faults.misfit });
  let bytes = 0;
  let records = 0;
  const progress = (phase: Progress['phase']) => options.onProgress({ phase, bytes, totalBytes, records });
  try {
    for (const [index, file] of files.entries()) {
      const chunks = counted(
        file === '-' ? options.stdin : createReadStream(file, { highWaterMark: 1 << 20 }),
        (size) => {
          bytes += size;
          progress('reading');
        },
      );
      for await (const batch of readRecords(chunks)) {
        for (const found of batch) await addOne(load, found, index, faults);
        records += batch.length;
        await rejects?.drained();
      }
    }
    if (faults.count() > 0 && !skipInvalid) {
      await load.abandon();
      return { tallies: undefined, faulty: faults.count(), records };
    }
    progress('writing');
    const tallies = await load.finish();
    return { tallies, faulty: faults.count(), records };
  } catch (error) {
    await load.abandon();
    throw error;
  } finally {
    faults.close();
    await rejects?.close();
  }
}

function addOne(load: Load, found: Found, file: number, faults: FaultReporter) {
  if ('problem' in found)
    return faults.found(file, found, [{ member: 'record', reason: found.problem, got: '' }]);
  const result = normalise(found.value);
  if ('faults' in result) return faults.found(file, found, result.faults);
  return load.add(result.row, file * LINES + found.line);
}

async function sizeOf(files: readonly string[]): Promise<number | undefined> {
  const sizes = await Promise.all(
    files.map(async (file) => (file === '-' ? Number.NaN : (await stat(file)).size)),
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return Number.isNaN(total) ? undefined : total;
}

async function* counted(
  chunks: AsyncIterable<Buffer>,
  onChunk: (size: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onChunk(chunk.length);
    yield chunk;
  }
}

type FaultReporter = ReturnType<typeof faultReporter>;

/** Counts what is wrong, names the first of it, and keeps the bad records. */
function faultReporter({ files, onFault }: ImportOptions, rejects: Rejects | undefined) {
  let records = 0;
  let lines = 0;

  function tell(
    file: number,
    line: number,
    { member, reason, got }: { member: string; reason: string; got: string },
  ) {
    lines++;
    const name = files[file] === '-' ? 'standard input' : files[file];
    if (lines <= FAULTS_SHOWN)
      onFault(`${name}:${line}: ${member}: ${reason}${got === '' ? '' : `, got "${got}"`}`);
  }

  return {
    count: () => records,
    found(
      file: number,
      { line, text }: Found,
      faults: readonly { member: string; reason: string; got: string }[],
    ): void {
      records++;
      for (const fault of faults) tell(file, line, fault);
      rejects?.add(text());
    },
    misfit(misfit: Misfit): void {
      records++;
      tell(Math.floor(misfit.place / LINES), misfit.place % LINES, misfit);
      rejects?.add(misfit.record);
    },
    close(): void {
      if (lines > FAULTS_SHOWN) onFault(`… and ${lines - FAULTS_SHOWN} more`);
    },
  };
}

type Rejects = ReturnType<typeof openRejects>;

function openRejects(path: string) {
  const stream: WriteStream = createWriteStream(path);
  const done = finished(stream);
  // Heard of at `drained` or `close`; until then it must not count as unhandled.
  done.catch(() => {});
  return {
    add: (text: string) => void stream.write(`${text}\n`),
    async drained(): Promise<void> {
      if (stream.errored) throw stream.errored;
      if (stream.writableNeedDrain)
        await Promise.race([new Promise<void>((resolve) => stream.once('drain', resolve)), done]);
    },
    async close(): Promise<void> {
      stream.end();
      await done;
    },
  };
}

/** What landed, as a table for people. */
export function summary(tallies: Tallies): string {
  const columns = ['new', 'changed', 'unchanged', 'removed'] as const;
  const rows = Object.entries(tallies)
    .filter(([, tally]) => columns.some((column) => tally[column] > 0))
    .map(([kind, tally]) => [
      KINDS[kind as keyof typeof KINDS].plural,
      ...columns.map((column) => String(tally[column])),
    ]);
  const table = [['', ...columns], ...rows];
  const widths = ['', ...columns].map((_, column) =>
    Math.max(...table.map((row) => (row[column] as string).length)),
  );
  return table
    .map((row) =>
      row
        .map((cell, i) =>
          i === 0 ? cell.padEnd(widths[0] as number) : cell.padStart((widths[i] as number) + 2),
        )
        .join(''),
    )
    .join('\n');
}
