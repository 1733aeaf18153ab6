// The commands that say what changed: `vitrine changes` to whoever reads it, `vitrine purge` to caches.
import { Readable } from 'node:stream';
import { Option } from 'commander';
import { describeChange } from '../changes/addresses.ts';
import { tellSubscribers } from '../changes/tell.ts';
import { type Cache, caches } from '../config/caches.ts';
import { counted } from '../records/printable.ts';
import { openExisting, openForExport } from '../stores/open.ts';
import type { SubscriberNews } from '../stores/subscribers.ts';
import { type CommandContext, UsageError } from './context.ts';
import {
  chooseDatabase,
  createCommand,
  examples,
  readEach,
  type SettingFlags,
  wholeNumberArgument,
} from './options.ts';
import { createSubscribers, readTellingConfig } from './telling.ts';

const CHANGES_HELP = `
Each line names a user whose profile or list changed, and the addresses that answer differently, as the base URLs in the
environment say. The last line has the generation that this leads to, to be named by --since the next time. Without --since
there is no other line. Exit code 1 if it is not known what changed, as after a takedown: then everything may have.
${examples('vitrine changes', 'vitrine changes --since 1795000000000000 > changes.ndjson')}`;

export const changesCommand = (context: CommandContext) =>
  createCommand('changes', 'list whose answers changed since an earlier generation of the data')
    .option('--since <generation>', 'what the last line of an earlier run says', wholeNumberArgument(0))
    .addHelpText('after', CHANGES_HELP)
    .action(async ({ since, ...flags }: SettingFlags & { since?: number }) => {
      context.keepStdoutForData();
      const database = chooseDatabase(flags, context);
      const config = readTellingConfig(context);
      await using archive = await openForExport(database);
      const { generation, changes } = await archive.changes(since);
      const known = changes === 'everything' ? [] : changes;
      const isUnknown = since !== undefined && changes === 'everything';
      const { writeToStdout } = await import('../import/export.ts');
      function* lines() {
        for (const change of known) yield `${JSON.stringify(describeChange(config, change))}\n`;
        yield `${JSON.stringify({ generation, ...(isUnknown && { everything: true }) })}\n`;
      }
      await writeToStdout(Readable.from(lines()), context.stdout);
      const failure = `what changed since generation ${since} is not known: take everything as changed`;
      context.report({
        summary: '',
        result: { generation, users: isUnknown ? null : known.length },
        failure: isUnknown ? failure : undefined,
      });
    });

const PURGE_HELP = `
Imports and all other commands that change data do this at their end, for PURGE. By hand it is for caches that could not be
reached then, and after a new version or new settings, which change pages: --all. Tokens come from CLOUDFLARE_API_TOKEN,
FASTLY_API_TOKEN, NETLIFY_AUTH_TOKEN and PURGE_TOKEN, or from files that the same names with _FILE give.
${examples('vitrine purge', 'vitrine purge --all --to nginx:/var/cache/vitrine', 'vitrine purge --dry-run --to cloudflare:0123456789abcdef0123456789abcdef')}`;

interface PurgeFlags extends SettingFlags {
  readonly to?: Cache[][];
  readonly all: boolean;
  readonly dryRun: boolean;
}

export const purgeCommand = (context: CommandContext) =>
  createCommand('purge', 'tell caches what changed since they were told, or to drop everything')
    .addOption(
      new Option('--to <cache...>', 'these caches instead of those of PURGE, written alike').argParser(
        readEach('--to', caches),
      ),
    )
    .option('--all', 'purge the answers of all users', false)
    .option('--dry-run', 'only say what each cache would be told', false)
    .addHelpText('after', PURGE_HELP)
    .action((flags: PurgeFlags) => runPurge(flags, context));

async function runPurge({ to, all, dryRun, ...flags }: PurgeFlags, context: CommandContext): Promise<void> {
  const config = readTellingConfig(context);
  const onlyCaches = all || to !== undefined ? { notify: [], websubHub: undefined } : {};
  const subscribers = await createSubscribers(
    { ...config, ...onlyCaches, purge: to?.flat() ?? config.purge },
    context,
  );
  if (subscribers.length === 0)
    throw new UsageError('name the caches: --to CACHE…, or set PURGE; vitrine purge --help has examples');
  await using writer = await openExisting(chooseDatabase(flags, context));
  const { news } = await writer.readUntold(subscribers.map(({ name }) => name));
  const told = subscribers.map(({ name }, index) => {
    const { changes } = news[index] as SubscriberNews;
    return { name, users: all || changes === 'everything' ? null : changes.length };
  });
  const signal = context.stopSignal();
  const failures = dryRun ? [] : await tellSubscribers(writer, subscribers, signal, { everything: all });
  const lines = told.map(
    ({ name, users }) => `${name}: ${users === null ? 'everything' : counted(users, 'user')}`,
  );
  context.report({
    summary: failures.length > 0 ? '' : lines.join('\n'),
    result: { dryRun, caches: told, failures },
    failure: failures.length > 0 ? failures.join('; ') : undefined,
  });
}
