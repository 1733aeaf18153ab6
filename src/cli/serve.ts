// `vitrine serve`

import { findFilesUrl, publicOrigin } from '../config/addresses.ts';
import { logsInformation, readConfig, withoutEffect } from '../config/config.ts';
import { servesSamples } from '../config/database-url.ts';
import { lookalikes } from '../config/lookalikes.ts';
import { ConfigError } from '../config/setting-values.ts';
import { type Config, SETTING_NAMES } from '../config/settings.ts';
import type { ReadingOptions } from '../import/import.ts';
import type { ServeHooks } from '../import/serve-files.ts';
import { countedPart } from '../records/printable.ts';
import type { RehearsalFlags } from '../server/rehearsal.ts';
import { UsageError } from '../stores/command-errors.ts';
import type { CommandContext } from './context.ts';
import { createCommand, examples, type SettingFlags, wholeNumberArgument } from './options.ts';
import { addReadingOptions, FILES_MEANING, pickReadingOptions } from './reading-options.ts';

interface ServeFlags extends SettingFlags, ReadingOptions, RehearsalFlags {
  readonly samples: boolean;
  readonly rehearse: boolean;
}

const RESULT = '`records` and `faulty` ones of files that are not served';

export const command = (context: CommandContext) =>
  addReadingOptions(
    createCommand('serve', RESULT, SETTING_NAMES)
      .argument('[file...]', `files to serve instead of a database: ${FILES_MEANING}`)
      .option('--samples', 'serve sample users if no database is named', false)
      .option(
        '--rehearse',
        'be a mock server with slow, failing and empty answers, to try a front-end with',
        false,
      )
      .option(
        '--delay <ms>',
        'with --rehearse, milliseconds that lookups and pictures take, as 500, 300-800 or normal:400,120',
      )
      .option(
        '--fail <share>',
        'with --rehearse, the share that fails, and how, as 5% or 5%:503,429,timeout,reset,truncate',
      )
      .option(
        '--seed <number>',
        'with --rehearse, a number that always gives the same delays and failures',
        wholeNumberArgument(0),
      )
      .option('--yes', 'with --rehearse, allow a public address', false),
  )
    .addHelpText(
      'after',
      `
Files are imported when the server starts and again whenever they are saved. \`vitrine FILE\` is short for it.
${examples(
  'vitrine serve people.ndjson posts.csv',
  'vitrine serve --samples',
  'vitrine serve --database-url site.db --port 80 --base-url-a /',
  'vitrine serve --samples --rehearse --delay 300-800 --fail 5%',
)}`,
    )
    .action((files: string[], flags: ServeFlags) => runServe(files, flags, context));

async function runServe(
  files: readonly string[],
  { samples, rehearse, delay, fail, seed, yes, ...settings }: ServeFlags,
  context: CommandContext,
): Promise<void> {
  const reading = pickReadingOptions(settings);
  const rehearsal = { rehearse, delay, fail, seed, yes };
  if (files.length > 0) return await runServeFiles(files, reading, rehearsal, settings, context);
  if (Object.values(reading).some((value) => value !== undefined && value !== false))
    throw new UsageError('--map and the other options for reading files need files to serve');
  const config = readConfig(settings, context.environment, ['notify']);
  if (servesSamples(config) && !samples)
    throw new ConfigError([
      'name the database: set DATABASE_URL or give --database-url; --samples serves sample users',
      ...lookalikes(context.environment),
    ]);
  const usual = servesSamples(config)
    ? readConfig(settings, { ...UNCACHED, ...context.environment }, ['notify'])
    : config;
  const { config: rehearsed, notes } = await applyRehearsal(rehearsal, usual, context);
  await loadAndServe(rehearsed, notes, context);
}

/** Serves what is in the files, from a database that is made of them. */
async function runServeFiles(
  files: readonly string[],
  reading: ReadingOptions,
  rehearsal: Parameters<typeof applyRehearsal>[0],
  settings: SettingFlags,
  context: CommandContext,
): Promise<void> {
  const { findFilesFolder, serveFiles } = await import('../import/serve-files.ts');
  const environment = { ...UNCACHED, ...withoutDatabase(settings, context) };
  const given = readConfig(settings, environment, ['notify']);
  const { config, notes } = await applyRehearsal(rehearsal, given, context);
  const isNotifying = config.notify.length > 0 || config.notifyFile !== undefined;
  const warnings = [
    ...notes,
    ...(config.workers > 1 ? ['one process serves the files: WORKERS has no effect'] : []),
    ...(config.purge.length > 0 ? ['caches are not purged when files are saved: PURGE has no effect'] : []),
    ...(isNotifying ? ['nothing is sent when files are saved: NOTIFY has no effect'] : []),
  ];
  const filesFolder = reading.filesUrl === undefined ? findFilesFolder(files) : undefined;
  const filesUrl = filesFolder === undefined ? reading.filesUrl : findFilesUrl(config);
  const refused = await serveFiles({ files, ...reading, filesUrl }, context, (served, hooks) =>
    loadAndServe({ ...config, ...served, filesFolder, workers: 1, purge: [] }, warnings, context, hooks),
  );
  if (refused === undefined) return;
  const failure = `nothing is served: ${countedPart(refused.faulty, refused.records, 'record')} wrong`;
  context.report({ summary: '', result: refused, failure });
}

/** The settings with those of a rehearsal, and lines about it; without --rehearse, nothing of it is loaded. */
async function applyRehearsal(
  { rehearse, ...flags }: RehearsalFlags & Pick<ServeFlags, 'rehearse'>,
  config: Config,
  { environment }: CommandContext,
): Promise<{ config: Config; notes: string[] }> {
  if (rehearse) {
    const { prepareRehearsal } = await import('../server/rehearsal.ts');
    return prepareRehearsal(config, flags, environment);
  }
  if (flags.yes || flags.delay !== undefined || flags.fail !== undefined || flags.seed !== undefined)
    throw new UsageError('--delay, --fail, --seed and --yes go with --rehearse');
  return { config, notes: [] };
}

/** Otherwise browsers would show the data from before the last save. */
const UNCACHED = { CACHE_CONTROL: 'no-cache' };

/** The database of the environment, as the container has one, is not meant where files are named. */
function withoutDatabase(
  flags: SettingFlags,
  { environment }: CommandContext,
): CommandContext['environment'] {
  if (flags.databaseUrl !== undefined || flags.databaseUrlFile !== undefined)
    throw new UsageError('name files to serve or a database, not both');
  return { ...environment, DATABASE_URL: undefined, DATABASE_URL_FILE: undefined };
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

async function loadAndServe(
  config: Config,
  warnings: readonly string[],
  context: CommandContext,
  hooks: ServeHooks = {},
): Promise<void> {
  const { environment, json, quiet, stopSignal } = context;
  // A signal may come while the server's code is loaded.
  const signal = stopSignal(STOP_SIGNALS);
  const { serveUntilStopped } = await import('../server/serve.ts');
  const allWarnings = [...warnings, ...settingWarnings(config, environment)];
  const served = quiet ? { ...config, logLevel: atLeastWarnings(config) } : config;
  await serveUntilStopped(served, { warnings: allWarnings, json, signal, ...hooks }, context);
}

function settingWarnings(config: Config, environment: CommandContext['environment']): string[] {
  const warnings = [...lookalikes(environment), ...withoutEffect(config)];
  if (config.directory && publicOrigin(config) === undefined)
    warnings.push(
      'DIRECTORY=on without a host in any BASE_URL_…: there is no /sitemap.xml and no /robots.txt. Set one such as BASE_URL_B=https://example.com',
    );
  return warnings;
}

const atLeastWarnings = (config: Config): Config['logLevel'] =>
  logsInformation(config) ? 'warn' : config.logLevel;
