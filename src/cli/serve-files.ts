// `vitrine serve FILE…`: the files are imported into a database of their own, and again whenever they are saved.
import { existsSync, lstatSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { isDatabase } from '../files/output.ts';
import type { Terminal } from '../files/terminal.ts';
import { counted, countedPart } from '../records/printable.ts';
import { lockFile, openForChange } from '../stores/open.ts';
import { type CommandContext, type ServeHooks, UsageError } from './context.ts';
import type { ReadingFlags } from './import.ts';
import { explain } from './output.ts';

interface FilesToServe extends ReadingFlags {
  readonly files: readonly string[];
}

/** What the rest of `serve` does with the database; it may watch the files meanwhile. */
type ServeDatabase = (settings: Pick<Config, 'databaseUrl' | 'files'>, hooks: ServeHooks) => Promise<void>;

export async function serveFiles(
  source: FilesToServe,
  context: CommandContext,
  serve: ServeDatabase,
): Promise<void> {
  const { files, map } = source;
  refuseUnfit(files);
  const watched = map !== undefined && existsSync(map) ? [...files, map] : files;
  const before = lookAt(watched);
  const stop = context.stopSignal(['SIGTERM', 'SIGINT']);
  using folder = createTemporaryFolder();
  const load = createLoader(folder.path, source, context);
  const first = await load(context.stderr, stop).catch((error) => {
    if (!stop.aborted) throw error;
  });
  if (first === undefined || stop.aborted) return;
  const { records, faulty } = first;
  if (!first.isServed) {
    const failure = `nothing is served: ${countedPart(faulty, records, 'record')} wrong`;
    return context.report({ summary: '', result: { records, faulty }, failure });
  }

  const served = new AbortController();
  const end = AbortSignal.any([stop, served.signal]);
  let watching: Promise<void> | undefined;
  let uncaught = new AbortController();
  const onServing = (log: Logger) => {
    for (const warning of first.warnings) log.warn(warning);
    log.info(`imported ${counted(records, 'record')}; saved files are imported again`);
    const onSave = () => {
      uncaught = new AbortController();
      return loadAgain(load, log, AbortSignal.any([end, uncaught.signal]));
    };
    watching = watchSaves(watched, before, onSave, end);
  };
  /** A map may leave errors behind in timers and promises: the first ends an import that is running. The server goes on. */
  const onUncaught = (sentence: string, log: Logger) => {
    if (!uncaught.signal.aborted) log.error(sentence);
    uncaught.abort();
  };
  const hooks = map === undefined ? { onServing } : { onServing, onUncaught };
  await serve({ databaseUrl: databaseIn(folder.path), files }, hooks);
  served.abort();
  await watching;
}

const PREFIX = 'vitrine-served-';
const LOCK = 'lock';

/** A folder of this run, which holds its lock. What runs that were killed have left behind is removed by the next one. */
function createTemporaryFolder(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), PREFIX));
  const { uid } = lstatSync(path);
  const others = readdirSync(tmpdir()).filter((name) => name.startsWith(PREFIX));
  for (const other of others.map((name) => join(tmpdir(), name))) if (isAbandoned(other, uid)) remove(other);
  const lock = lockFile(join(path, LOCK));
  return {
    path,
    [Symbol.dispose]() {
      lock?.[Symbol.dispose]();
      remove(path);
    },
  };
}

function isAbandoned(folder: string, uid: number): boolean {
  try {
    // One that has no lock yet is being made.
    if (lstatSync(folder).uid !== uid || !existsSync(join(folder, LOCK))) return false;
    using lock = lockFile(join(folder, LOCK));
    return lock !== undefined;
  } catch {
    // Another run removes it.
    return false;
  }
}

const remove = (folder: string) => rmSync(folder, { recursive: true, force: true });

const databaseIn = (folder: string) => join(folder, 'site.db');

type Load = ReturnType<typeof createLoader>;

/**
 * Each time a new database takes the place of the one before, as any file may that is renamed over a served one: so what
 * is not in the files any more is gone, and where the files are refused, the data before stays.
 */
function createLoader(folder: string, source: FilesToServe, context: CommandContext) {
  const { stdin } = context;
  const next = join(folder, 'next.db');

  return async (out: Terminal, signal: AbortSignal) => {
    const { importFiles } = await import('../import/import.ts');
    const { createImportReport, describeMended } = await import('../import/report.ts');
    using report = createImportReport(out);
    const options = { ...source, stdin, signal, replace: false, skipInvalid: false };
    const run = { ...options, onProgress: report.progress, onFault: report.fault };
    const writer = await openForChange(next);
    const { tallies, mended, warnings, ...result } = await importFiles(writer, run).finally(() =>
      writer.close(),
    );
    const isServed = tallies !== undefined;
    if (isServed) renameSync(next, databaseIn(folder));
    return { isServed, warnings: [...warnings, ...describeMended(mended)], ...result };
  };
}

/** What happens goes to the log. */
async function loadAgain(load: Load, log: Logger, signal: AbortSignal): Promise<void> {
  const out = { isQuiet: true, write: (text: string) => log.error(text.trimEnd()) };
  try {
    const { isServed, warnings, records, faulty } = await load(out, signal);
    for (const warning of warnings) log.warn(warning);
    if (isServed) return log.info(`imported ${counted(records, 'record')} again`);
    log.error(`${countedPart(faulty, records, 'record')} wrong`);
  } catch (error) {
    for (const fault of explain(error).lines) log.error(fault);
  }
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

const POLL_MS = 100;
/** Folders with many files are looked at less often: at most this part of the time. */
const LOOKING_SHARE = 0.1;

/** How the files are now: before they are read, so that no save is missed. */
const lookAt = (files: readonly string[]) => files.map(signature).join();

/** Calls `onSave` when files have changed and nobody is writing them any more, until the signal. */
async function watchSaves(
  files: readonly string[],
  before: string,
  onSave: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let known = before;
  let seen = before;
  let took = 0;
  while (!signal.aborted) {
    await pause(Math.max(POLL_MS, took / LOOKING_SHARE), undefined, { signal }).catch(() => {});
    const start = performance.now();
    const now = lookAt(files);
    took = performance.now() - start;
    const isAtRest = now === seen;
    seen = now;
    if (now === known || !isAtRest || signal.aborted) continue;
    known = now;
    await onSave();
  }
}

/** Of a folder, such as an unpacked export, with all that is in it. */
function signature(path: string): string {
  try {
    const stats = statSync(path, { bigint: true });
    const { ino, size, mtimeNs, ctimeNs } = stats;
    const own = [ino, size, mtimeNs, ctimeNs].join(' ');
    if (!stats.isDirectory()) return own;
    return [own, ...readdirSync(path).map((name) => signature(join(path, name)))].join();
  } catch {
    return 'missing';
  }
}
