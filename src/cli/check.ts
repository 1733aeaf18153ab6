// `vitrine check`
import { shownDatabase } from '../config/database-url.ts';
import { KIND_NAMES, KINDS } from '../records/kinds.ts';
import { checkDatabase, repairDatabase } from '../stores/open.ts';
import type { CheckResult, Counts } from '../stores/store.ts';
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
  const url = databaseOf(flags, around);
  const shown = shownDatabase(url);
  const repaired = repair ? await repairDatabase(url) : undefined;
  const check = await checkDatabase(url);
  const sound = check.faults.length === 0;
  const lines = [
    ...(repaired === undefined ? [] : [`repaired ${repaired} of the lists and ETags`]),
    ...(sound ? [`${shown} is sound`, ...countLines(check.counts)] : []),
  ];
  around.report({ text: lines.join('\n'), result: { sound, repaired, ...check } });
  if (!sound) throw new Failed(`${shown} is not sound: ${oneLine(check.faults)}`);
}

const countLines = (counts: Counts | undefined) =>
  KIND_NAMES.map((kind) => `${KINDS[kind].plural}: ${counts?.[kind]}`);

const oneLine = (faults: CheckResult['faults']) => faults.join('; ').replace(/\s*\n\s*/g, ' ');
