// `vitrine check`
import { shownDatabase } from '../config/database-url.ts';
import { KIND_NAMES, KINDS } from '../records/kinds.ts';
import { checkDatabase, repairDatabase } from '../stores/open.ts';
import { createCommand, databaseOf, examples, type SettingFlags } from './options.ts';
import { Failed, type Surroundings } from './surroundings.ts';

interface CheckFlags extends SettingFlags {
  readonly repair: boolean;
}

export const checkCommand = (around: Surroundings) =>
  createCommand('check', 'read the whole database and say whether it is sound, and what it holds')
    .option('--repair', 'rebuild lists and ETags that do not match the items and records', false)
    .addHelpText('after', examples('vitrine check', 'vitrine check --repair'))
    .action((flags: CheckFlags) => runCheck(flags, around));

async function runCheck({ repair, ...flags }: CheckFlags, around: Surroundings): Promise<void> {
  const say = (text: string) => void around.stdout.write(`${text}\n`);
  const url = databaseOf(flags, around);
  const shown = shownDatabase(url);
  if (repair) say(`repaired ${await repairDatabase(url)} lists and ETags`);
  const { faults, counts } = await checkDatabase(url);
  if (faults.length > 0)
    throw new Failed(`${shown} is not sound: ${faults.join('; ').replace(/\s*\n\s*/g, ' ')}`);
  say(`${shown} is sound`);
  for (const kind of KIND_NAMES) say(`${KINDS[kind].plural}: ${counts?.[kind]}`);
}
