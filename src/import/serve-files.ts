// `vitrine serve FILE…`: the files are imported into a database of their own, and again whenever they are saved.
import { existsSync, lstatSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { platform, tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { FilesState } from '../config/database-url.ts';
import type { Config } from '../config/settings.ts';
import { counted, countedPart } from '../records/printable.ts';
import { explain, UsageError } from '../stores/command-errors.ts';
import { loadLocks, openWriter } from '../stores/open.ts';
import { isDatabase, removeLeftovers } from '../stores/output.ts';
import type { ReadingOptions } from './import.ts';
import type { Terminal } from './terminal.ts';
import { lookAt, watchSaves } from './watch-files.ts';

interface FilesToServe extends ReadingOptions {
  readonly files: readonly string[];
}

/** What it needs of the process. */
interface ServingProcess {
  readonly stdin: AsyncIterable<Buffer>;
  readonly stderr: Terminal;
  readonly stopSignal: (signals: readonly NodeJS.Signals[]) => AbortSignal;
  readonly endBySignal: () => void;
}

/** What happens while the server that the files are served by is running. */
export interface ServeHooks {
  /** Called once the server answers. */
  readonly onServing?: (log: Logger) => void;
  /** Called with a sentence about an error that nothing caught; without it, such an error ends the server. */
  readonly onUncaught?: (sentence: string, log: Logger) => void;
}

/** What the rest of `serve` does with the database; it may watch the files meanwhile. */
type ServeDatabase = (
  settings: Pick<Config, 'databaseUrl' | 'files' | 'filesState'>,
  hooks: ServeHooks,
) => Promise<void>;

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Resolves when serving has ended; to what was found in the files if they were refused, and nothing was served. */
export async function serveFiles(
  source: FilesToServe,
  context: ServingProcess,
  serve: ServeDatabase,
): Promise<{ readonly records: number; readonly faulty: number } | undefined> {
  const { files, map } = source;
  const watched = map !== undefined && existsSync(map) ? [...files, map] : files;
  refuseUnfit(watched);
  const stopImport = context.stopSignal(STOP_SIGNALS);
  using folder = await createTemporaryFolder();
  const loader = createLoader(folder.path, source, watched, context);
  // What the signal leaves behind in the folder, the next run removes.
  const first = await loader.load(context.stderr, stopImport, context.endBySignal).catch((error) => {
    if (!stopImport.aborted) throw error;
  });
  if (first === undefined || stopImport.aborted) return undefined;
  const stop = context.stopSignal(STOP_SIGNALS);
  const { records, faulty, before } = first;
  if (!first.isServed) return { records, faulty };

  const served = new AbortController();
  const end = AbortSignal.any([stop, served.signal]);
  let watching: Promise<void> | undefined;
  let uncaught = new AbortController();
  const onServing = (log: Logger) => {
    for (const warning of first.warnings) log.warn(warning);
    log.info(`imported ${counted(records, 'record')}; saved files are imported again`);
    const onSave = (change: AbortSignal) => {
      uncaught = new AbortController();
      return loadAgain(loader, log, change, uncaught.signal);
    };
    watching = watchSaves(loader.look, before, onSave, end);
  };
  /** A map may leave errors behind in timers and promises: the first ends an import that is running. The server goes on. */
  const onUncaught = (sentence: string, log: Logger) => {
    if (!uncaught.signal.aborted) log.error(sentence);
    uncaught.abort();
  };
  const hooks = map === undefined ? { onServing } : { onServing, onUncaught };
  await serve({ databaseUrl: databaseIn(folder.path), files, filesState: loader.state }, hooks);
  served.abort();
  await watching;
  return undefined;
}

/** The folder that all files are in, or that is named itself; undefined if there are several. */
export function findFilesFolder(files: readonly string[]): string | undefined {
  const folders = files.map((file) => {
    const isFolder = statSync(file, { throwIfNoEntry: false })?.isDirectory();
    return isFolder ? resolve(file) : dirname(resolve(file));
  });
  return new Set(folders).size === 1 ? folders[0] : undefined;
}

const PREFIX = 'vitrine-served-';
const LOCK = 'lock';

/** A folder of this run, which holds its lock. */
async function createTemporaryFolder(): Promise<{ readonly path: string } & Disposable> {
  const lockFile = await loadLocks();
  const path = mkdtempSync(join(tmpdir(), PREFIX));
  const { uid } = lstatSync(path);
  removeLeftovers(tmpdir(), (folder) => {
    // One that has no lock yet is being made.
    if (
      !basename(folder).startsWith(PREFIX) ||
      lstatSync(folder).uid !== uid ||
      !existsSync(join(folder, LOCK))
    )
      return false;
    using lock = lockFile(join(folder, LOCK));
    return lock !== undefined;
  });
  // It gets its name when it is locked, so that no other run finds it unlocked. Windows renames no open file.
  const unseen = join(path, platform() === 'win32' ? LOCK : 'lock.new');
  const lock = lockFile(unseen);
  renameSync(unseen, join(path, LOCK));
  return {
    path,
    [Symbol.dispose]() {
      lock?.[Symbol.dispose]();
      rmSync(path, { recursive: true, force: true });
    },
  };
}

const databaseIn = (folder: string) => join(folder, 'site.db');

type Loader = ReturnType<typeof createLoader>;

/**
 * Each time a new database takes the place of the one before, as any file may that is renamed over a served one: so what
 * is not in the files any more is gone, and where the files are refused, the data before stays.
 */
function createLoader(
  folder: string,
  source: FilesToServe,
  watched: readonly string[],
  { stdin }: ServingProcess,
) {
  const next = join(folder, 'next.db');
  /** The names of the files that the map reads of a folder. */
  let names: RegExp | undefined;
  const look = () => lookAt(watched, names);
  const state: FilesState = { savedAt: 0, faults: [] };

  async function load(out: Terminal, signal: AbortSignal, onWriting?: () => void) {
    const { importFiles, openInputs } = await import('./import.ts');
    const options = { ...source, stdin, signal, out, onWriting, replace: false, skipInvalid: false };
    refuseUnfit(watched);
    const inputs = await openInputs(options);
    refuseUnfit(inputs.files);
    names = inputs.map?.files;
    // Before the files are read, so that no save is missed.
    const before = await look();
    const savedAt = findSaveTime(source.files);
    const writer = await openWriter(next);
    const { tallies, warnings, notes, records, faulty } = await importFiles(writer, options, inputs).finally(
      writer.close,
    );
    const isServed = tallies !== undefined;
    if (isServed) {
      renameSync(next, databaseIn(folder));
      Object.assign(state, { savedAt, faults: [] });
    }
    return { isServed, before, warnings: [...warnings, ...notes], records, faulty };
  }

  /** A visitor of a page sees the names of files, and not where they lie. */
  const saveFaults = (lines: readonly string[]) => {
    state.faults = lines.map((line) =>
      source.files.reduce((text, file) => text.replaceAll(file, basename(file)), line),
    );
  };

  return { look, load, state, saveFaults };
}

/** Milliseconds since 1970. */
const findSaveTime = (files: readonly string[]) =>
  Math.max(...files.map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0));

/** What happens goes to the log. Nothing does if the files have changed meanwhile: they are imported once more. */
async function loadAgain(
  { load, saveFaults }: Loader,
  log: Logger,
  change: AbortSignal,
  uncaught: AbortSignal,
): Promise<void> {
  const faults: string[] = [];
  const report = (line: string) => {
    log.error(line);
    faults.push(line);
  };
  const out = { isQuiet: true, write: (text: string) => report(text.trimEnd()) };
  try {
    const { isServed, warnings, records, faulty } = await load(out, AbortSignal.any([change, uncaught]));
    for (const warning of warnings) log.warn(warning);
    if (isServed) return log.info(`imported the saved files: ${counted(records, 'record')}`);
    report(`${countedPart(faulty, records, 'record')} wrong`);
  } catch (error) {
    if (change.aborted) return;
    explain(error).forEach(report);
  }
  saveFaults(faults);
  log.warn('the data before is served until the files are saved again');
}

function refuseUnfit(files: readonly string[]): void {
  for (const file of files) {
    const stats = file === '-' ? undefined : statSync(file, { throwIfNoEntry: false });
    const name = file === '-' ? 'standard input' : file;
    if (file === '-' || (stats !== undefined && !stats.isFile() && !stats.isDirectory()))
      throw new UsageError(`serve reads files again when they are saved, and ${name} can be read once only`);
    if (isDatabase(file)) throw new UsageError(`${file} is a database: give it with --database-url`);
  }
}
