// `vitrine changes`
import { Readable } from 'node:stream';
import { openArchive } from '../stores/open.ts';
import { writeToStdout } from '../stores/output.ts';
import { describeChange } from '../tools/notify/addresses.ts';
import { readNotifyConfig } from '../tools/notify/notifying.ts';
import type { CommandContext } from './context.ts';
import {
  chooseDatabase,
  createCommand,
  examples,
  type SettingFlags,
  wholeNumberArgument,
} from './options.ts';

const HELP = `
Each line names a user whose profile or list changed, and the addresses that answer differently. Base URLs are those of
the environment. The last line has the new generation. Give it to --since the next time. Without --since there is no
other line. The exit code is 1 if it is not known what changed, as after a takedown. Then everything may have changed.
${examples('vitrine changes', 'vitrine changes --since 1795000000000000 > changes.ndjson')}`;

const RESULT = '`generation`, `users` (null if unknown)';

export const command = (context: CommandContext) =>
  createCommand('changes', RESULT)
    .option('--since <generation>', 'what the last line of an earlier run says', wholeNumberArgument(0))
    .addHelpText('after', HELP)
    .action(async ({ since, ...flags }: SettingFlags & { since?: number }) => {
      context.keepStdoutForData();
      const database = chooseDatabase(flags, context);
      const config = readNotifyConfig(context);
      await using archive = await openArchive(database);
      const { generation, changes } = await archive.changes(since);
      const known = changes === 'everything' ? [] : changes;
      const isUnknown = since !== undefined && changes === 'everything';
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
