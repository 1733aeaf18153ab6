// `vitrine serve`
import { type Config, listMounts, publicOrigin, readConfig, SETTING_NAMES } from '../config/config.ts';
import { describeData } from '../config/database-url.ts';
import { lookalikes } from '../config/lookalikes.ts';
import { ConfigError } from '../config/setting-values.ts';
import { KIND_NAMES } from '../records/kinds.ts';
import { counted } from '../records/printable.ts';
import { StoreError } from '../stores/errors.ts';
import { openForLookups, openForServing } from '../stores/open.ts';
import type { Counts } from '../stores/reader.ts';
import { type CommandContext, type ServeHooks, UsageError } from './context.ts';
import { addReadingOptions, FILES_MEANING, type ReadingFlags } from './import.ts';
import { createCommand, examples, type SettingFlags } from './options.ts';
import { serveFiles } from './serve-files.ts';

interface ServeFlags extends SettingFlags, ReadingFlags {
  readonly samples: boolean;
  readonly check: boolean;
}

export const serveCommand = (context: CommandContext) =>
  addReadingOptions(
    createCommand('serve', 'answer HTTP requests from a database or from files', SETTING_NAMES),
  )
    .argument('[file...]', `files to serve instead of a database: ${FILES_MEANING}`)
    .option('--samples', 'serve sample users if no database is named', false)
    .option('--check', 'say what would be served, and exit with 0, or with 2 if that cannot be', false)
    .addHelpText(
      'after',
      `
Files are imported when the server starts and again whenever they are saved. \`vitrine FILE\` is short for it.
${examples(
  'vitrine serve people.ndjson posts.csv',
  'vitrine serve --samples',
  'vitrine serve --database-url site.db --port 80 --base-url-a /',
  'vitrine serve --check',
)}`,
    )
    .action((files: string[], flags: ServeFlags) => runServe(files, flags, context));

async function runServe(
  files: readonly string[],
  { samples, check, ...flags }: ServeFlags,
  context: CommandContext,
): Promise<void> {
  const { map, filesUrl, exportUser, family, encoding, lenient, unescape: isUnescaping, ...settings } = flags;
  const reading = { map, filesUrl, exportUser, family, encoding, lenient, unescape: isUnescaping };
  const run = (config: Config, warnings: string[], hooks?: ServeHooks) =>
    check ? checkServe(config, warnings, context) : startServe(config, warnings, context, hooks);
  if (files.length > 0) {
    const config = readConfig(settings, withoutDatabase(settings, context));
    const warnings = [
      ...(config.workers > 1 ? ['one process serves the files: WORKERS has no effect'] : []),
      ...(config.purge.length > 0 ? ['caches are not told that files were saved: PURGE has no effect'] : []),
    ];
    return await serveFiles({ files, ...reading }, context, (served, hooks) =>
      run({ ...config, ...served, workers: 1, purge: [] }, warnings, hooks),
    );
  }
  if (Object.values(reading).some((value) => value !== undefined && value !== false))
    throw new UsageError('--map, and what else says how files are read, goes with files to serve');
  const config = readConfig(settings, context.environment);
  if (config.databaseUrl === undefined && !samples)
    throw new ConfigError([
      'name the database: set DATABASE_URL or give --database-url; --samples serves sample users',
      ...lookalikes(context.environment),
    ]);
  await run(config, []);
}

/** The database of the environment, as the container has one, is not meant where files are named. */
function withoutDatabase(
  flags: SettingFlags,
  { environment }: CommandContext,
): CommandContext['environment'] {
  if (flags.databaseUrl !== undefined || flags.databaseUrlFile !== undefined)
    throw new UsageError('name files to serve or a database, not both');
  return { ...environment, DATABASE_URL: undefined, DATABASE_URL_FILE: undefined };
}

async function startServe(
  config: Config,
  warnings: readonly string[],
  { environment, json, quiet, serve }: CommandContext,
  hooks: ServeHooks = {},
): Promise<void> {
  await serve(quiet ? { ...config, logLevel: atLeastWarnings(config) } : config, {
    warnings: [...warnings, ...settingWarnings(config, environment)],
    json,
    ...hooks,
  });
}

function settingWarnings(config: Config, environment: CommandContext['environment']): string[] {
  const warnings = lookalikes(environment);
  if (config.directory && publicOrigin(config) === undefined)
    warnings.push(
      'DIRECTORY=on without a host in any BASE_URL_…: there is no /sitemap.xml and no /robots.txt. Set one such as BASE_URL_B=https://example.com',
    );
  return warnings;
}

const atLeastWarnings = ({ logLevel }: Config): Config['logLevel'] =>
  ['trace', 'debug', 'info'].includes(logLevel) ? 'warn' : logLevel;

async function checkServe(config: Config, others: readonly string[], context: CommandContext): Promise<void> {
  const { databaseUrl } = config;
  const warnings = [...others, ...settingWarnings(config, context.environment)];
  const counts = databaseUrl === undefined ? undefined : await readCounts(databaseUrl, warnings);
  const data = describeData(config);
  const variants = Object.fromEntries(
    listMounts(config).map(({ variant, base }) => [variant, describeAddress(config, base)]),
  );
  for (const warning of warnings) context.stderr.write(`vitrine: ${warning}\n`);
  const lines = [
    `would serve ${data}${counts === undefined ? '' : `: ${countsText(counts)}`}`,
    ...Object.entries(variants).map(([variant, address]) => `variant ${variant.toUpperCase()}: ${address}`),
  ];
  context.report({ summary: lines.join('\n'), result: { data, counts, variants } });
}

const describeAddress = (config: Config, base: { origin: string | undefined; path: string }) =>
  `${base.origin ?? describeOrigin(config)}${base.path}`;

function describeOrigin({ host, port }: Config): string {
  if (host.startsWith('/')) return `unix:${host}:`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const countsText = (counts: Counts) => KIND_NAMES.map((kind) => counted(counts[kind], kind)).join(', ');

/** Opens the data as the server does, and counts it. */
async function readCounts(url: string, warnings: string[]): Promise<Counts> {
  try {
    const served = await openForServing(url, ({ type, message }) => {
      if (type !== 'data-changed') warnings.push(message);
    });
    const fault = await served.fault();
    await served.close();
    if (fault !== undefined) throw new UsageError(fault);
    await using reader = await openForLookups(url);
    return await reader.counts();
  } catch (error) {
    if (error instanceof StoreError) throw new UsageError(error.message);
    throw error;
  }
}
