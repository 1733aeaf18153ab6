// Files -> records in the store: all of them, or none, or the good ones.

import { createReadStream, readdirSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Family, KINDS } from '../records/kinds.ts';
import { createMender, type Mender, type MendingOptions } from '../records/mending.ts';
import { type RawRecord, recogniseKind } from '../records/normalise.ts';
import { counted } from '../records/printable.ts';
import { memberName } from '../records/schemas.ts';
import { errorMessage } from '../records/thrown.ts';
import { type LinesOutput, openLines } from '../stores/output.ts';
import type { Load, RemovalLimit, Tallies } from '../stores/sql/load.ts';
import type { StepListener } from '../stores/steps.ts';
import type { Writer } from '../stores/writer.ts';
import { readRecords } from './formats/detect.ts';
import { type Entry, FormatError, NoRecordsError } from './formats/entry.ts';
import type { ExportFacts, RecordMap } from './map.ts';
import {
  createFaultReport,
  createUnused,
  createWarnings,
  describeMended,
  describePlace,
  displayName,
  encodePlace,
  type FaultReport,
  showReading,
  type Warnings,
} from './report.ts';
import { createReport, type Terminal } from './terminal.ts';

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
  readonly signal?: AbortSignal | undefined;
  /** Called before the store writes: that does not heed the signal. */
  readonly onWriting?: () => void;
  /** The file for the faulty records. */
  readonly rejects?: string | undefined;
  /** Gets progress and the first faults: `FILE:LINE: member: what is wrong, got "…"`. */
  readonly out: Terminal;
}

/** What of the options says how files are read. */
export type ReadingOptions = Pick<
  ImportOptions,
  'map' | 'filesUrl' | 'exportUser' | 'family' | 'dates' | 'encoding' | 'lenient' | 'unescape'
>;

export async function importFiles(
  writer: Writer,
  options: ImportOptions,
  inputs?: Awaited<ReturnType<typeof openInputs>>,
) {
  const { replace, maxRemoved, skipInvalid, dryRun } = options;
  const { map, files, totalBytes } = inputs ?? (await openInputs(options));
  using rejects = options.rejects === undefined ? undefined : openLines(options.rejects, files);
  using shown = createReport(options.out);
  const report = createFaultReport(files, shown.fault, rejects, map !== undefined);
  const warnings = createWarnings((place) => describePlace(files, place));
  const mender = createMender(options);
  const unused = createUnused();
  const counts: Counts = { bytes: 0, records: 0 };
  const onStep: StepListener = (step, share) =>
    shown.step(`writing ${counted(counts.records, 'record')}: ${step}`, share);
  const load = await writer.load({
    replace,
    maxRemoved,
    skipInvalid,
    onMisfit: report.misfit,
    onStep,
    beforeCommit: () => rejects?.sync(),
  });
  let tallies: Tallies | undefined;
  try {
    const adder = new Adder({ load, report, warnings, unused, mender, ...options });
    const onChunk = () => showReading(shown, { totalBytes, ...counts });
    for await (const { file, batch } of readFiles({ ...options, files }, map, counts, onChunk)) {
      counts.records += batch.length;
      for (const entry of batch) await adder.add(entry, encodePlace(file, entry.line));
      options.signal?.throwIfAborted();
    }
    await adder.end();
    // Signals that came while the last records were read. Node sees them in the second turn: the first may end one that has
    // looked for events already.
    await nextTurn();
    await nextTurn();
    options.signal?.throwIfAborted();
    options.onWriting?.();
    // Owners and names are checked once every record is good.
    if (report.count() > 0 && !skipInvalid) await load.abandon();
    else tallies = await load.finish(dryRun ? 'try' : 'commit');
  } catch (error) {
    await load.abandon();
    throw error;
  }
  const unplaced = tallies === undefined ? [] : placeRejects(rejects);
  return {
    /** Undefined when nothing was imported because records were faulty. */
    tallies,
    /** Lines about what was taken but is probably not meant so. */
    warnings: [...warnings.lines(), ...(map?.warnings() ?? []), ...unplaced],
    /** Lines about what was mended or not used. */
    notes: [...describeMended(mender.counts), ...unused.lines()],
    mended: mender.counts,
    unused: unused.counts(),
    faulty: report.count(),
    records: counts.records,
  };
}

/** The import is committed: what fails now is a warning. */
function placeRejects(rejects: LinesOutput | undefined): string[] {
  try {
    rejects?.commit();
    return [];
  } catch (error) {
    return [errorMessage(error)];
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
  { files, stdin, signal, encoding }: ImportOptions,
  map: RecordMap | undefined,
  counts: Counts,
  onChunk: () => void,
): AsyncGenerator<FileBatch> {
  let empty: FormatError | undefined;
  /** The file of the last object that a map was given. */
  let last = 0;
  for (const [file, path] of files.entries()) {
    const source = path === '-' ? stoppable(stdin, signal) : createReadStream(path, { signal });
    const chunks = countingBytes(source, counts, onChunk);
    try {
      const batches =
        map === undefined ? readRecords(chunks, { encoding }) : map.read(chunks, displayName(path), encoding);
      for await (const batch of batches) {
        last = file;
        yield { file, batch };
      }
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      const named = new FormatError(`${displayName(path)}: ${error.message}`);
      if (!(error instanceof NoRecordsError)) throw named;
      empty ??= named;
    }
  }
  yield { file: last, batch: (await map?.end()) ?? [] };
  if (empty !== undefined && counts.records === 0) throw empty;
}

const stoppable = (stdin: ImportOptions['stdin'], signal: AbortSignal | undefined) =>
  stdin instanceof Readable && signal !== undefined ? addAbortSignal(signal, stdin) : stdin;

async function* countingBytes(
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

// Adds each entry of the files to the load, or to the faults.

interface Adding {
  readonly load: Load;
  readonly report: FaultReport;
  readonly warnings: Warnings;
  readonly unused: ReturnType<typeof createUnused>;
  readonly mender: Mender;
  /** The family of profiles that fit both. */
  readonly family?: Family | undefined;
}

type RawEntry = Extract<Entry, { readonly value: RawRecord }>;

interface Waiting {
  readonly entry: RawEntry;
  readonly place: number;
}

/** Of profiles that fit both families. They wait for the first record that tells one. */
const MOST_HELD_CHARACTERS = 4 * 1024 * 1024;

/** A record with the names of members as they are written here. A name whose member is there already stays as it is. */
function nameMembers(value: RawRecord): RawRecord {
  const others = Object.keys(value).filter((name) => memberName(name) !== name);
  if (others.length === 0) return value;
  const named = new Map(Object.entries(value));
  for (const name of others) {
    const member = memberName(name);
    if (named.has(member)) continue;
    named.set(member, value[name]);
    named.delete(name);
  }
  return Object.fromEntries(named);
}

class Adder {
  readonly #to: Adding;
  #family: Family | undefined;
  readonly #waiting: Waiting[] = [];
  #waitingLength = 0;

  constructor(to: Adding) {
    this.#to = to;
    this.#family = to.family;
  }

  add(entry: Entry, place: number): void | Promise<void> {
    if ('problem' in entry)
      return this.#to.report.entry(place, entry, [{ member: 'record', reason: entry.problem, got: '' }]);
    const value = nameMembers(entry.value);
    const named = value === entry.value ? entry : { ...entry, value };
    if (this.#family === undefined && this.#waitingLength < MOST_HELD_CHARACTERS)
      return this.#holdOrAdd(named, place);
    return this.#addKnown(named, place);
  }

  #addKnown(entry: RawEntry, place: number): void | Promise<void> {
    const { load, report, warnings, unused, mender } = this.#to;
    const result = mender.normalise(entry.value, entry.kind, this.#family);
    if ('faults' in result) {
      return report.entry(place, entry, result.faults);
    }
    unused.look(entry.value, result.row.kind);
    warnings.look(result.row, entry.value, place);
    return load.add(result.row, place);
  }

  /** Adds what still waits, after the last file. */
  async end(): Promise<void> {
    if (this.#family === undefined)
      for (const { entry, place } of this.#waiting) await this.#addKnown(entry, place);
  }

  /**
   * Holds profiles that fit both families back until a record tells the family. The order of the files is kept: of two
   * records with the same id, the last one counts.
   */
  async #holdOrAdd(entry: RawEntry, place: number): Promise<void> {
    const recognised = entry.kind === undefined ? recogniseKind(entry.value) : { kind: entry.kind };
    if ('reason' in recognised && recognised.isAmbiguous) {
      this.#waitingLength += entry.text().length;
      this.#waiting.push({ entry, place });
      return;
    }
    if ('reason' in recognised) return await this.#addKnown(entry, place);
    this.#family = KINDS[recognised.kind].family;
    for (const one of this.#waiting) await this.#addKnown(one.entry, one.place);
    await this.#addKnown(entry, place);
  }
}

// The files that an import reads, and the map for them.

interface InputOptions extends ExportFacts {
  /** Paths; `-` is standard input. */
  readonly files: readonly string[];
  /** The module that makes records of other objects, or the name of a ready one. */
  readonly map?: string | undefined;
}

/** Loads the map and looks for the files, before a database is opened or created. */
export async function openInputs(options: InputOptions) {
  const map = await openMap(options);
  const files = options.files.flatMap((file) =>
    map?.files === undefined ? file : listFolder(file, map.files),
  );
  /** Unknown if standard input is among the files. */
  const totalBytes = await addSizes(files);
  return { map, files, totalBytes };
}

async function openMap({ map, ...facts }: InputOptions) {
  if (map === undefined) return undefined;
  const { loadMap } = await import('./map.ts');
  return await loadMap(map, facts);
}

/** The files of an unpacked export that its map reads. */
function listFolder(path: string, files: RegExp): string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path];
  const all = readdirSync(path, { recursive: true, encoding: 'utf8' });
  // Unlike `test`, `search` does not remember where the last match ended.
  const found = all.filter((name) => name.search(files) !== -1).sort();
  if (found.length === 0) throw new FormatError(`${path} has no files of such an export`);
  return found.map((name) => join(path, name));
}

/** How many bytes all files have. */
async function addSizes(files: readonly string[]): Promise<number | undefined> {
  if (files.includes('-')) return undefined;
  const all = await Promise.all(files.map(async (file) => ({ file, stats: await stat(file) })));
  const folder = all.find(({ stats }) => stats.isDirectory());
  if (folder !== undefined) throw new FormatError(`${folder.file} is a folder: name the files in it`);
  return all.reduce((sum, { stats }) => sum + stats.size, 0);
}
