// `vitrine purge`

import { openShown } from '../import/open-shown.ts';
import { showSteps } from '../import/terminal.ts';
import { counted } from '../records/printable.ts';
import { UsageError } from '../stores/command-errors.ts';
import { notifySubscribers, pickChanges } from '../tools/notify/notify.ts';
import { createSubscribers, readNotifyConfig } from '../tools/notify/notifying.ts';
import type { CommandContext } from './context.ts';
import { chooseDatabase, createCommand, examples, type SettingFlags } from './options.ts';

const HELP = `
Commands that change data purge the caches of PURGE at their end. Run this command for caches that could not be reached
then. After a new version or new settings, which change pages, run it with --all. Tokens come from CLOUDFLARE_API_TOKEN
and PURGE_TOKEN, or from files that the same names with _FILE give.
${examples('vitrine purge', 'vitrine purge --all', 'vitrine purge --dry-run')}`;

interface PurgeFlags extends SettingFlags {
  readonly all: boolean;
  readonly dryRun: boolean;
}

const RESULT = '`caches`, each with `name` and `users` (null means everything), `failures`, `dryRun`';

export const command = (context: CommandContext) =>
  createCommand('purge', RESULT)
    .option('--all', 'purge the answers of all users', false)
    .option('--dry-run', 'only say what each cache would be sent', false)
    .addHelpText('after', HELP)
    .action((flags: PurgeFlags) => runPurge(flags, context));

async function runPurge({ all, dryRun, ...flags }: PurgeFlags, context: CommandContext): Promise<void> {
  const config = readNotifyConfig(context);
  const subscribers = await createSubscribers(all ? { ...config, notify: [] } : config, context);
  if (subscribers.length === 0)
    throw new UsageError('name the caches: set PURGE, such as PURGE=nginx:/var/cache/vitrine');
  await using writer = await openShown(chooseDatabase(flags, context), context, { mustExist: true });
  const names = subscribers.map(({ name }) => name);
  const { pending } = await writer.readPending(names);
  const caches = subscribers.map((subscriber, index) => {
    const changes = pickChanges(subscriber, pending[index]?.changes ?? []);
    return { name: subscriber.name, users: all || changes === 'everything' ? null : changes.length };
  });
  const signal = context.stopSignal();
  const failures = dryRun
    ? []
    : await showSteps(context.stderr, (onStep) =>
        notifySubscribers(writer, subscribers, signal, { everything: all, onStep }),
      );
  const lines = caches.map(
    ({ name, users }) => `${name}: ${users === null ? 'everything' : counted(users, 'user')}`,
  );
  context.report({
    summary: failures.length > 0 ? '' : lines.join('\n'),
    result: { dryRun, caches, failures },
    failure: failures.length > 0 ? failures.join('; ') : undefined,
  });
}
