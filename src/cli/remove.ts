// `vitrine remove`

import type { Family } from '../records/kinds.ts';
import { counted } from '../records/printable.ts';
import { CommandFailed } from '../stores/command-errors.ts';
import { openNotifying } from '../tools/notify/notifying.ts';
import type { CommandContext } from './context.ts';
import { chooseDatabase, createCommand, examples, familyOption, type SettingFlags } from './options.ts';

const RESULT = '`user`, `family`, `items`';

export const command = (context: CommandContext) =>
  createCommand('remove', RESULT)
    .argument('<user>', 'the user name; letter case does not matter')
    .addOption(familyOption('the family of the user').makeOptionMandatory())
    .addHelpText('after', examples('vitrine remove --family portfolio ada'))
    .action(async (user: string, { family, ...flags }: SettingFlags & { family: Family }) => {
      const { userKey } = await import('../records/user-name.ts');
      await using writer = await openNotifying(chooseDatabase(flags, context), context, { mustExist: true });
      const removed = await writer.remove(family, userKey(user));
      const name = JSON.stringify(user);
      if (removed === undefined) throw new CommandFailed(`the ${family} family has no user ${name}`);
      context.report({
        summary: `removed ${name} and ${counted(removed.items, 'item')}`,
        result: { user, family, ...removed },
      });
    });
