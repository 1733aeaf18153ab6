// `vitrine snapshot`

import { showSteps } from '../import/terminal.ts';
import { snapshotDatabase } from '../stores/open.ts';
import type { CommandContext } from './context.ts';
import {
  chooseDatabase,
  createCommand,
  examples,
  requireName,
  type SettingFlags,
  wholeNumberArgument,
} from './options.ts';

const RESULT = '`file`, and with `--keep` the `removed` older ones';

export const command = (context: CommandContext) =>
  createCommand('snapshot', RESULT)
    .argument('<file>', 'the file to write; an existing one is replaced at once; with --keep a folder')
    .option(
      '--keep <number>',
      'name the copy for the time, and keep this number of copies',
      wholeNumberArgument(1),
    )
    .addHelpText('after', examples('vitrine snapshot /backup/site.db', 'vitrine snapshot --keep 7 /backup'))
    .action(async (target: string, flags: SettingFlags & { keep?: number }) => {
      requireName(target, 'a snapshot');
      const { file, removed, warnings } = await showSteps(context.stderr, (onStep) =>
        snapshotDatabase(chooseDatabase(flags, context), target, { ...flags, onStep }),
      );
      for (const warning of warnings) context.stderr.write(`${warning}\n`);
      const lines = [`snapshot written to ${file}`, ...removed.map((old) => `removed ${old}`)];
      context.report({ summary: lines.join('\n'), result: { file, removed } });
    });
