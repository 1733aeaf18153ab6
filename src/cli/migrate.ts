// `vitrine migrate`
import { shownDatabase } from '../config/database-url.ts';
import { showSteps } from '../import/terminal.ts';
import { migrateDatabase } from '../stores/open.ts';
import type { CommandContext } from './context.ts';
import { chooseDatabase, createCommand, examples, type SettingFlags } from './options.ts';

const RESULT = 'the schema it migrated `from` and `to`, `compact`';

export const command = (context: CommandContext) =>
  createCommand('migrate', RESULT)
    .option(
      '--compact',
      'write a SQLite file anew, without unused space: needs twice its size as free disk space',
      false,
    )
    .addHelpText('after', examples('vitrine migrate', 'vitrine migrate --compact'))
    .action(async ({ compact, ...flags }: SettingFlags & { compact: boolean }) => {
      const url = chooseDatabase(flags, context);
      const { traces, ...result } = await showSteps(context.stderr, (onStep) =>
        migrateDatabase(url, { compact, onStep }),
      );
      const { from, to } = result;
      const what =
        from === to ? `has schema ${to} already` : `was migrated from schema ${from} to schema ${to}`;
      const lines = [`${shownDatabase(url)} ${what}`];
      if (compact) lines.push('it was written anew, without unused space');
      context.report({ summary: [...lines, traces ?? []].flat().join('\n'), result: { ...result, compact } });
    });
