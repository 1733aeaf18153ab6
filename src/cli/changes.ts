// `vitrine changes`
import { Readable } from 'node:stream';
import { UsageError } from '../stores/command-errors.ts';
import { openArchive } from '../stores/open.ts';
import { writeToStdout } from '../stores/output.ts';
import { describeChange } from '../tools/notify/addresses.ts';
import { readAddressConfig } from '../tools/notify/notifying.ts';
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
the environment. The last line has the new generation. Give it to --since the next time. Without --since and --last there
is no other line. --last lists what the newest change of the data changed: an import that changes nothing is none, and a
mirror makes one for each 32 users. The exit code is 1 if it is not known what changed, as after a takedown or the first
import. Then everything may have changed.
${examples('vitrine changes', 'vitrine changes --last', 'vitrine changes --since 1795000000000000 > changes.ndjson')}`;

const RESULT = '`generation`, `users` (null if unknown)';

export const command = (context: CommandContext) =>
  createCommand('changes', RESULT)
    .option('--since <generation>', 'what the last line of an earlier run says', wholeNumberArgument(0))
    .option('--last', 'what the newest import, or other change of the data, has changed')
    .addHelpText('after', HELP)
    .action(async ({ since, last, ...flags }: SettingFlags & { since?: number; last?: true }) => {
      if (last && since !== undefined) throw new UsageError('give one of --since and --last');
      context.keepStdoutForData();
      const database = chooseDatabase(flags, context);
      const config = readAddressConfig(context);
      await using archive = await openArchive(database);
      const { generation, changes } = await archive.changes(last ? 'last' : since);
      const known = changes === 'everything' ? [] : changes;
      const isUnknown = (last || since !== undefined) && changes === 'everything';
      function* lines() {
        for (const change of known) yield `${JSON.stringify(describeChange(config, change))}\n`;
        yield `${JSON.stringify({ generation, ...(isUnknown && { everything: true }) })}\n`;
      }
      await writeToStdout(Readable.from(lines()), context.stdout);
      const asked = last ? 'the last change changed' : `changed since generation ${since}`;
      context.report({
        summary: '',
        result: { generation, users: isUnknown ? null : known.length },
        failure: isUnknown ? `what ${asked} is not known: take everything as changed` : undefined,
      });
    });
