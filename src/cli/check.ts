// `vitrine check`
import { shownDatabase } from '../config/database-url.ts';
import { showSteps } from '../import/terminal.ts';
import { CommandFailed, explain } from '../stores/command-errors.ts';
import { checkDatabase, repairDatabase } from '../stores/open.ts';
import { notifyChanges } from '../tools/notify/notifying.ts';
import type { CommandContext } from './context.ts';
import { chooseDatabase, countLines, createCommand, examples, type SettingFlags } from './options.ts';

const RESULT = '`sound`, `faults`, `counts`, and with `--repair` what was `repaired`';

export const command = (context: CommandContext) =>
  createCommand('check', RESULT)
    .option('--repair', 'rebuild lists and ETags that do not match the items and records', false)
    .addHelpText('after', examples('vitrine check', 'vitrine check --repair'))
    .action(async ({ repair, ...flags }: SettingFlags & { repair: boolean }) => {
      const url = chooseDatabase(flags, context);
      const shown = shownDatabase(url);
      const repaired = repair ? await repairShown(url, context) : undefined;
      if (repair) await notifyChanges(url, context);
      const check = showSteps(context.stderr, (onStep) => checkDatabase(url, onStep));
      const { faults, counts } = await check.catch((error: unknown) => {
        if (repaired === undefined) throw error;
        const [reason] = explain(error);
        throw new CommandFailed(
          `${shown}: the repair of ${repaired} lists and ETags is done, but not checked: ${reason}`,
        );
      });
      const sound = faults.length === 0;
      const lines = repaired === undefined ? [] : [`repaired ${repaired} of the lists and ETags`];
      if (counts !== undefined) lines.push(`${shown} is sound`, ...countLines(counts));
      const after = repaired === undefined ? '' : ` after the repair of ${repaired} lists and ETags`;
      const failure = `${shown} is not sound${after}: ${faults.join('; ').replace(/\s*\n\s*/g, ' ')}`;
      context.report({
        summary: sound ? lines.join('\n') : '',
        result: { sound, repaired, faults, counts },
        failure: sound ? undefined : failure,
      });
    });

const repairShown = (url: string, { stderr }: CommandContext) =>
  showSteps(stderr, (onStep) => {
    onStep('repairing');
    return repairDatabase(url, onStep);
  });
