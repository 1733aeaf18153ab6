// `vitrine migrate`
import { shownDatabase } from '../config/database-url.ts';
import { migrateDatabase } from '../stores/open.ts';
import type { CommandContext } from './context.ts';
import { chooseDatabase, createCommand, examples, type SettingFlags } from './options.ts';

export const command = (context: CommandContext) =>
  createCommand('migrate')
    .addHelpText('after', examples('vitrine migrate', 'vitrine migrate --database-url site.db'))
    .action(async (flags: SettingFlags) => {
      const url = chooseDatabase(flags, context);
      const result = await migrateDatabase(url);
      const { from, to } = result;
      const what =
        from === to ? `has schema ${to} already` : `was migrated from schema ${from} to schema ${to}`;
      context.report({ summary: `${shownDatabase(url)} ${what}`, result });
    });
