// `vitrine check`
import { shownDatabase } from '../config/database-url.ts';
import { KIND_NAMES, KINDS } from '../records/kinds.ts';
import { checkDatabase, repairDatabase } from '../stores/open.ts';
import type { Counts } from '../stores/reader.ts';
import type { CheckResult } from '../stores/soundness.ts';
import { type CommandContext, CommandFailed } from './context.ts';
import { createCommand, databaseOf, examples, type SettingFlags } from './options.ts';

interface CheckFlags extends SettingFlags {
  readonly repair: boolean;
}

export const checkCommand = (context: CommandContext) =>
  createCommand('check', 'read the whole database and say whether it is sound, and what it holds')
    .option('--repair', 'rebuild lists and ETags that do not match the items and records', false)
    .addHelpText('after', examples('vitrine check', 'vitrine check --repair'))
    .action((flags: CheckFlags) => runCheck(flags, context));

async function runCheck({ repair, ...flags }: CheckFlags, context: CommandContext): Promise<void> {
  const url = databaseOf(flags, context);
  const shown = shownDatabase(url);
  const repaired = repair ? await repairDatabase(url) : undefined;
  const check = await checkDatabase(url);
  const sound = check.faults.length === 0;
  const lines = [
    ...(repaired === undefined ? [] : [`repaired ${repaired} of the lists and ETags`]),
    ...(sound ? [`${shown} is sound`, ...countLines(check.counts)] : []),
  ];
  context.report({ text: lines.join('\n'), result: { sound, repaired, ...check } });
  if (!sound) throw new CommandFailed(`${shown} is not sound: ${oneLine(check.faults)}`);
}

const countLines = (counts: Counts | undefined) =>
  KIND_NAMES.map((kind) => `${KINDS[kind].plural}: ${counts?.[kind]}`);

const oneLine = (faults: CheckResult['faults']) => faults.join('; ').replace(/\s*\n\s*/g, ' ');
