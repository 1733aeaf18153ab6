// `vitrine migrate`
import { shownDatabase } from '../config/database-url.ts';
import { migrateDatabase } from '../stores/open.ts';
import type { CommandContext } from './context.ts';
import { createCommand, databaseOf, examples, type SettingFlags } from './options.ts';

export const migrateCommand = (context: CommandContext) =>
  createCommand('migrate', 'bring the database to the schema of this version')
    .addHelpText('after', examples('vitrine migrate', 'vitrine migrate --database-url site.db'))
    .action(async (flags: SettingFlags) => {
      const url = databaseOf(flags, context);
      const result = await migrateDatabase(url);
      const { from, to } = result;
      const what =
        from === to ? `has schema ${to} already` : `was migrated from schema ${from} to schema ${to}`;
      context.report({ text: `${shownDatabase(url)} ${what}`, result });
    });
