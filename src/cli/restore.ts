// `vitrine restore`
import { shownDatabase } from '../config/database-url.ts';
import { showSteps } from '../import/terminal.ts';
import { counted } from '../records/printable.ts';
import { restoreDatabase } from '../stores/open.ts';
import { notifyChanges } from '../tools/notify/notifying.ts';
import type { CommandContext } from './context.ts';
import { chooseDatabase, countLines, createCommand, examples, type SettingFlags } from './options.ts';

const HELP = `
A running server answers with the restored data from its next lookup on, and loses no request. The snapshot is checked
first, and migrated if it is older. A damaged snapshot changes nothing. Takedowns since the snapshot stay in force.
${examples('vitrine restore /backup/site.db', 'vitrine restore --check /backup/site.db')}`;

const RESULT = '`file`, `check`, `counts` of each kind, `takenDown` `users` and `items`';

export const command = (context: CommandContext) =>
  createCommand('restore', RESULT)
    .argument('<file>', 'the snapshot')
    .option('--check', 'only say whether it can be restored, and what it holds', false)
    .addHelpText('after', HELP)
    .action(async (file: string, { check, ...flags }: SettingFlags & { check: boolean }) => {
      const url = chooseDatabase(flags, context);
      // No signal is caught: each statement may take long, and a run that is killed changes nothing.
      const { counts, takenDown, warning } = await showSteps(context.stderr, (onStep) =>
        restoreDatabase(url, file, { check, onStep }),
      );
      if (!check) await notifyChanges(url, context);
      if (warning !== undefined) context.stderr.write(`${warning}\n`);
      const { users, items } = takenDown;
      const isAll = users + items === 0;
      const without = `without what was taken down since: ${counted(users, 'user')}, ${counted(items, 'item')}`;
      const done = check ? `${file} can be restored` : `${shownDatabase(url)} was restored from ${file}`;
      const lines = [done, ...countLines(counts), ...(isAll ? [] : [without])];
      context.report({ summary: lines.join('\n'), result: { file, check, counts, takenDown } });
    });
