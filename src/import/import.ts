// Files -> records in the store: all of them, or none, or the good ones.
import { createReadStream } from 'node:fs';
import { addAbortSignal, Readable } from 'node:stream';
import { readRecords } from '../formats/detect.ts';
import { type Capture, type Entry, FormatError, NoContentError } from '../formats/entry.ts';
import type { Family } from '../records/kinds.ts';
import { createMender, type Mender, type MendingOptions } from '../records/mending.ts';
import type { RawRecord } from '../records/recognise.ts';
import { createPlaceholders } from '../records/row.ts';
import type { Load, Tallies } from '../stores/load.ts';
import type { RemovalLimit } from '../stores/removal-limit.ts';
import type { Writer } from '../stores/writer.ts';
import { openCaptures } from './captures.ts';
import {
  createFaultReport,
  describePlace,
  displayName,
  encodePlace,
  type FaultReport,
  openRejects,
} from './faults.ts';
import { type InputOptions, openInputs } from './inputs.ts';
import type { RecordMap } from './map.ts';
import { createWarnings, type Progress, type Warnings } from './report.ts';

export interface ImportOptions extends MendingOptions, InputOptions {
  readonly stdin: AsyncIterable<Buffer>;
  readonly replace: boolean;
  readonly maxRemoved?: RemovalLimit;
  readonly skipInvalid: boolean;
  /** Do everything but the commit. */
  readonly dryRun?: boolean;
  /** The family of profiles that fit both. */
  readonly family?: Family | undefined;
  /** Of the files, if it is not UTF-8 and no byte order mark tells it. */
  readonly encoding?: string | undefined;
  /** Ends the import, which then changes nothing, unless it is being written already. */
  readonly signal?: AbortSignal;
  /** The file for the faulty records. */
  readonly rejects?: string | undefined;
  readonly onProgress: (progress: Progress) => void;
  /** Called with each fault: `FILE:LINE: member: what is wrong, got "…"`. */
  readonly onFault: (line: string) => void;
}

export async function importFiles(
  writer: Writer,
  options: ImportOptions,
  inputs?: Awaited<ReturnType<typeof openInputs>>,
) {
  const { replace, maxRemoved, skipInvalid, dryRun, onProgress } = options;
  const { map, files, totalBytes } = inputs ?? (await openInputs(options));
  using rejects = options.rejects === undefined ? undefined : openRejects(options.rejects, files);
  const report = createFaultReport(files, options.onFault, rejects, map !== undefined);
  const warnings = createWarnings((place) => describePlace(files, place));
  const mender = createMender(options);
  const counts: Counts = { bytes: 0, records: 0 };
  const show = (phase: Progress['phase']) => onProgress({ phase, totalBytes, ...counts });
  const load = await writer.load({ replace, maxRemoved, skipInvalid, onMisfit: report.misfit });
  let tallies: Tallies | undefined;
  try {
    const add = createAdder(load, report, warnings, mender, options);
    const onChunk = () => show('reading');
    for await (const { file, batch } of readFiles({ ...options, files }, map, warnings, counts, onChunk)) {
      counts.records += batch.length;
      for (const entry of batch) await add(entry, encodePlace(file, entry.line));
      options.signal?.throwIfAborted();
    }
    show('writing');
    const isRefused = report.count() > 0 && !skipInvalid;
    tallies = await load.finish(isRefused ? 'refuse' : dryRun ? 'try' : 'commit');
  } catch (error) {
    await load.abandon();
    throw error;
  }
  if (tallies !== undefined) rejects?.commit();
  return {
    /** Undefined when nothing was imported because records were faulty. */
    tallies,
    /** Lines about what was taken but is probably not meant so. */
    warnings: [...warnings.lines(), ...missingFiles(map)],
    mended: mender.counts,
    faulty: report.count(),
    records: counts.records,
  };
}

function missingFiles(map: RecordMap | undefined): string[] {
  const count = map?.unpublished() ?? 0;
  if (count === 0) return [];
  const advice = "publish the export's files, and give their address with --files-url";
  return [`warning: pictures and films left out: ${count}: ${advice}`];
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
  { files, stdin, signal, encoding }: ImportOptions,
  map: RecordMap | undefined,
  warnings: Warnings,
  counts: Counts,
  onChunk: () => void,
): AsyncGenerator<FileBatch> {
  let empty: string | undefined;
  using opened = new DisposableStack();
  let captures: ReturnType<typeof openCaptures> | undefined;
  for (const [file, path] of files.entries()) {
    const source = path === '-' ? stoppable(stdin, signal) : createReadStream(path, { signal });
    const chunks = counted(source, counts, onChunk);
    const onCapture = (capture: Capture) => {
      captures ??= opened.use(openCaptures(warnings));
      captures.add(capture, file);
    };
    try {
      const batches =
        map === undefined
          ? readRecords(chunks, { encoding, onCapture })
          : map.read(chunks, displayName(path), encoding);
      for await (const batch of batches) yield { file, batch };
    } catch (error) {
      if (error instanceof NoContentError) empty ??= path;
      else if (error instanceof FormatError) throw new FormatError(`${displayName(path)}: ${error.message}`);
      else throw error;
    }
  }
  if (captures !== undefined) yield* captures.entries();
  yield { file: files.length - 1, batch: (await map?.end()) ?? [] };
  // One empty file among others does no harm; but to import nothing at all is a mistake.
  if (empty !== undefined && counts.records === 0)
    throw new FormatError(`${displayName(empty)} has no records`);
}

const stoppable = (stdin: ImportOptions['stdin'], signal: AbortSignal | undefined) =>
  stdin instanceof Readable && signal !== undefined ? addAbortSignal(signal, stdin) : stdin;

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

/** Adds an entry to the load, or to the faults. */
function createAdder(
  load: Load,
  report: FaultReport,
  warnings: Warnings,
  mender: Mender,
  { skipInvalid, family }: ImportOptions,
) {
  async function addPlaceholders(source: RawRecord, place: number): Promise<void> {
    for (const row of createPlaceholders(source, family)) await load.add(row, place);
  }

  return (entry: Entry, place: number): void | Promise<void> => {
    if ('problem' in entry)
      return report.entry(place, entry, [{ member: 'record', reason: entry.problem, got: '' }]);
    const result = mender.normalise(entry.value, entry.kind, family);
    if ('faults' in result) {
      report.entry(place, entry, result.faults);
      return skipInvalid ? undefined : addPlaceholders(entry.value, place);
    }
    warnings.look(result.row, entry.value, place);
    return load.add(result.row, place);
  };
}
