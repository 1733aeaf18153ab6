// `vitrine serve FILE…`: the files are imported into a database of their own, and again whenever they are saved.
import { existsSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { isDatabase } from '../files/output.ts';
import { createPrivateFolder } from '../files/private-folder.ts';
import { lookAt, type Saves, watchSaves } from '../files/saves.ts';
import type { Terminal } from '../files/terminal.ts';
import { counted, countedPart } from '../records/printable.ts';
import { openForChange } from '../stores/open.ts';
import { type CommandContext, CommandFailed, type ServeHooks, UsageError } from './context.ts';
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
  using folder = createPrivateFolder(context);
  const load = createLoader(folder.path, source, context);
  const first = await load(context.stderr, AbortSignal.any([stop, context.uncaughtSignal()])).catch(
    (error) => {
      if (!stop.aborted) throw error;
    },
  );
  if (first === undefined || stop.aborted) return;
  const { records, faulty } = first;
  if (!first.isServed) {
    const failure = `nothing is served: ${countedPart(faulty, records, 'record')} wrong`;
    return context.report({ summary: '', result: { records, faulty }, failure });
  }

  let saves: Saves | undefined;
  let loading: Promise<void> | undefined;
  let uncaught = new AbortController();
  const onServing = (log: Logger) => {
    for (const warning of first.warnings) log.warn(warning);
    log.info(`imported ${counted(records, 'record')}; saved files are imported again`);
    const isObsolete = () => stop.aborted || saves?.isStale() === true;
    saves = watchSaves(watched, before, {
      onSave() {
        uncaught = new AbortController();
        loading = loadAgain(load, log, AbortSignal.any([stop, uncaught.signal]), isObsolete);
        return loading;
      },
      onMissing: (file) => log.warn(`${file} is missing: its data is served until it is back`),
    });
  };
  /** A map may leave errors behind in timers and promises: the first ends an import that is running. The server goes on. */
  const onUncaught = (sentence: string, log: Logger) => {
    if (!uncaught.signal.aborted) log.error(sentence);
    uncaught.abort(new CommandFailed('nothing was imported'));
  };
  const hooks = { onServing, onUncaught: map === undefined ? undefined : onUncaught };
  await serve({ databaseUrl: databaseIn(folder.path), files }, hooks);
  saves?.stop();
  await loading;
}

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

/** What happens goes to the log. Files that were saved yet again, or while they were read, get their turn. */
async function loadAgain(
  load: Load,
  log: Logger,
  signal: AbortSignal,
  isObsolete: () => boolean,
): Promise<void> {
  const faults: string[] = [];
  const out = { isQuiet: true, write: (text: string) => faults.push(text.trimEnd()) };
  try {
    const { isServed, warnings, records, faulty } = await load(out, signal);
    for (const warning of warnings) log.warn(warning);
    if (isServed) return log.info(`imported ${counted(records, 'record')} again`);
    faults.push(`${countedPart(faulty, records, 'record')} wrong`);
  } catch (error) {
    faults.push(...explain(error).lines);
  }
  if (isObsolete()) return;
  for (const fault of faults) log.error(fault);
  log.warn('the data before is served until the files are saved again');
}

function refuseUnfit(files: readonly string[]): void {
  const database = files.find((file) => file !== '-' && isDatabase(file));
  if (database !== undefined) throw new UsageError(`${database} is a database: give it with --database-url`);
  const stream = files.find((file) => file === '-' || isStream(file));
  if (stream === undefined) return;
  const name = stream === '-' ? 'standard input' : stream;
  throw new UsageError(`serve reads files again when they are saved, and ${name} can be read once only`);
}

function isStream(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats !== undefined && !stats.isFile() && !stats.isDirectory();
}
