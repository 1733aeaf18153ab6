// Files -> records in the store: all of them, or none, or the good ones.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { normalise } from '../records/normalise.ts';
import type { Load, Tallies, Writer } from '../stores/store.ts';
import type { Entry } from './entry.ts';
import { createFaultReport, type FaultReport, nameOf, placeOf } from './fault-report.ts';
import { FormatError, NoContentError } from './format-error.ts';
import { readRecords } from './formats.ts';
import { openRejects } from './rejects.ts';

export { summary } from './summary.ts';

export interface ImportOptions {
  /** Paths; `-` is standard input. */
  readonly files: readonly string[];
  readonly stdin: AsyncIterable<Buffer>;
  readonly replace: boolean;
  readonly skipInvalid: boolean;
  /** The file for the faulty records. */
  readonly rejects?: string;
  readonly onProgress: (progress: Progress) => void;
  /** Called with each of the first faults: `FILE:LINE: member: what is wrong, got "…"`. */
  readonly onFault: (line: string) => void;
}

export interface Progress {
  readonly phase: 'reading' | 'writing';
  readonly bytes: number;
  /** Unknown if standard input is among the files. */
  readonly totalBytes: number | undefined;
  readonly records: number;
}

export interface ImportResult {
  /** Undefined when nothing was imported because records were faulty. */
  readonly tallies: Tallies | undefined;
  readonly faulty: number;
  readonly records: number;
  /** Why the faulty records could not be written, although the others were imported. */
  readonly rejectsFault?: string;
}

export async function importFiles(writer: Writer, options: ImportOptions): Promise<ImportResult> {
  const { files, replace, skipInvalid, onProgress } = options;
  const totalBytes = await sizeOf(files);
  const rejects = options.rejects === undefined ? undefined : openRejects(options.rejects, files);
  const report = createFaultReport(files, options.onFault, rejects);
  const counts: Counts = { bytes: 0, records: 0 };
  const show = (phase: Progress['phase']) => onProgress({ phase, totalBytes, ...counts });
  try {
    const load = await writer.load({ replace, skipInvalid, onMisfit: report.misfit });
    try {
      for await (const { file, batch } of readFiles(options, counts, () => show('reading'))) {
        for (const entry of batch) await addEntry(load, entry, placeOf(file, entry.line), report);
        throwAny(rejects?.fault());
      }
      if (report.count() > 0 && !skipInvalid) {
        await load.abandon();
        return { tallies: undefined, faulty: report.count(), records: counts.records };
      }
      show('writing');
      const tallies = await load.finish();
      rejects?.commit();
      const rejectsFault = rejects?.fault()?.message;
      return { tallies, faulty: report.count(), records: counts.records, rejectsFault };
    } catch (error) {
      await load.abandon();
      throw error;
    }
  } finally {
    report.close();
    rejects?.close();
  }
}

interface Counts {
  bytes: number;
  records: number;
}

interface FileBatch {
  /** The file's index. */
  readonly file: number;
  readonly batch: readonly Entry[];
}

async function* readFiles(
  { files, stdin }: ImportOptions,
  counts: Counts,
  onChunk: () => void,
): AsyncGenerator<FileBatch> {
  let empty: string | undefined;
  for (const [file, path] of files.entries()) {
    const chunks = path === '-' ? stdin : createReadStream(path);
    try {
      for await (const batch of readRecords(counted(chunks, counts, onChunk))) {
        counts.records += batch.length;
        yield { file, batch };
      }
    } catch (error) {
      if (error instanceof NoContentError) empty ??= path;
      else if (error instanceof FormatError) throw new FormatError(`${nameOf(path)}: ${error.message}`);
      else throw error;
    }
  }
  // One empty file among others does no harm; but to import nothing at all is a mistake.
  if (empty !== undefined && counts.records === 0) throw new FormatError(`${nameOf(empty)} has no records`);
}

async function* counted(
  chunks: AsyncIterable<Buffer>,
  counts: Counts,
  onChunk: () => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    counts.bytes += chunk.length;
    onChunk();
    yield chunk;
  }
}

function addEntry(load: Load, entry: Entry, place: number, report: FaultReport): void | Promise<void> {
  if ('problem' in entry)
    return report.entry(place, entry, [{ member: 'record', reason: entry.problem, got: '' }]);
  const result = normalise(entry.value);
  if ('faults' in result) return report.entry(place, entry, result.faults);
  return load.add(result.row, place);
}

function throwAny(error: Error | undefined): void {
  if (error !== undefined) throw error;
}

/** How many bytes all files have. */
async function sizeOf(files: readonly string[]): Promise<number | undefined> {
  if (files.includes('-')) return undefined;
  const all = await Promise.all(files.map(async (file) => ({ file, stats: await stat(file) })));
  const folder = all.find(({ stats }) => stats.isDirectory());
  if (folder !== undefined) throw new FormatError(`${folder.file} is a folder: name the files in it`);
  return all.reduce((sum, { stats }) => sum + stats.size, 0);
}
