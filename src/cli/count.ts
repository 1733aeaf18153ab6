// `vitrine count`
import { shownDatabase } from '../config/database-url.ts';
import { findKind } from '../records/kinds.ts';
import { table } from '../records/printable.ts';
import { openReader } from '../stores/open.ts';
import { VARIANT_NAMES, VARIANTS } from '../variants.ts';
import type { CommandContext } from './context.ts';
import { chooseDatabase, createCommand, examples, type SettingFlags } from './options.ts';

const RESULT =
  '`counts` of each kind, `variants` with their `users`, `lists` and `items`, and the time of the `lastImport`';

export const command = (context: CommandContext) =>
  createCommand('count', RESULT)
    .addHelpText('after', examples('vitrine count', 'vitrine count --json'))
    .action(async (flags: SettingFlags) => {
      const url = chooseDatabase(flags, context);
      await using reader = await openReader(url);
      const counts = await reader.counts();
      const run = await reader.lastImportRun();
      const variants = VARIANT_NAMES.map((variant) => {
        const { family, collection } = VARIANTS[variant];
        const users = counts[findKind(family, 'profile')];
        // Each user has a list, which may be empty.
        return { variant, users, lists: users, collection, items: counts[findKind(family, 'item')] };
      });
      const rows = variants.map(({ variant, users, lists, collection, items }) => [
        `${variant.toUpperCase()} (${collection})`,
        users,
        lists,
        items,
      ]);
      const time = run === undefined ? null : new Date(run * 1000).toISOString();
      const last = time === null ? 'no import' : `last import: ${time}`;
      context.report({
        summary: `${shownDatabase(url)}, ${last}\n${table([['', 'users', 'lists', 'items'], ...rows])}`,
        result: { counts, variants, lastImport: time },
      });
    });
