// `vitrine serve`
import { type Config, ConfigError, listMounts, readConfig, SETTING_NAMES } from '../config/config.ts';
import { shownDatabase } from '../config/database-url.ts';
import { lookalikes } from '../config/lookalikes.ts';
import { KIND_NAMES } from '../records/kinds.ts';
import { counted } from '../records/printable.ts';
import { StoreError } from '../stores/errors.ts';
import { openForLookups, openForServing } from '../stores/open.ts';
import type { Counts } from '../stores/reader.ts';
import { type CommandContext, UsageError } from './context.ts';
import { createCommand, examples, type SettingFlags } from './options.ts';

interface ServeFlags extends SettingFlags {
  readonly samples: boolean;
  readonly check: boolean;
}

export const serveCommand = (context: CommandContext) =>
  createCommand('serve', 'answer HTTP requests from the database', SETTING_NAMES)
    .option('--samples', 'serve sample users if no database is named', false)
    .option('--check', 'say what would be served, and exit with 0, or with 2 if that cannot be', false)
    .addHelpText(
      'after',
      examples(
        'vitrine serve --samples',
        'vitrine serve --database-url site.db --port 80 --base-url-a /',
        'vitrine serve --check',
      ),
    )
    .action((flags: ServeFlags) => runServe(flags, context));

async function runServe({ samples, check, ...flags }: ServeFlags, context: CommandContext): Promise<void> {
  const warnings = lookalikes(context.environment);
  const config = readConfig(flags, context.environment);
  if (config.databaseUrl === undefined && !samples)
    throw new ConfigError([
      'name the database: set DATABASE_URL or give --database-url; --samples serves sample users',
      ...warnings,
    ]);
  if (check) return await checkServe(config, warnings, context);
  const { json, quiet } = context;
  await context.serve(quiet ? { ...config, logLevel: atLeastWarnings(config) } : config, { warnings, json });
}

const atLeastWarnings = ({ logLevel }: Config): Config['logLevel'] =>
  ['trace', 'debug', 'info'].includes(logLevel) ? 'warn' : logLevel;

async function checkServe(config: Config, warnings: string[], context: CommandContext): Promise<void> {
  const { databaseUrl } = config;
  const counts = databaseUrl === undefined ? undefined : await readCounts(databaseUrl, warnings);
  const data = databaseUrl === undefined ? 'the sample users' : shownDatabase(databaseUrl);
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
