// `vitrine remove`
import { counted } from '../records/counted.ts';
import type { Family } from '../records/kinds.ts';
import { userKey } from '../records/user-name.ts';
import { openExisting } from '../stores/open.ts';
import { type CommandContext, CommandFailed } from './context.ts';
import { createCommand, databaseOf, examples, familyOption, type SettingFlags } from './options.ts';

interface RemoveFlags extends SettingFlags {
  readonly family: Family;
}

export const removeCommand = (context: CommandContext) =>
  createCommand('remove', 'remove one user and all their items from the database')
    .argument('<user>', 'the user name; letter case does not matter')
    .addOption(familyOption('the family of the user').makeOptionMandatory())
    .addHelpText('after', examples('vitrine remove --family portfolio ada'))
    .action((user: string, flags: RemoveFlags) => runRemove(user, flags, context));

async function runRemove(
  user: string,
  { family, ...flags }: RemoveFlags,
  context: CommandContext,
): Promise<void> {
  const writer = await openExisting(databaseOf(flags, context));
  try {
    const removed = await writer.remove(family, userKey(user));
    if (removed === undefined)
      throw new CommandFailed(`the ${family} family has no user ${JSON.stringify(user)}`);
    context.report({
      text: `removed ${JSON.stringify(user)} and ${counted(removed.items, 'item')}`,
      result: { user, family, ...removed },
    });
  } finally {
    await writer.close();
  }
}
