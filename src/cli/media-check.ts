// `vitrine media check`
import type { Command } from 'commander';
import type { CheckCounts } from '../media/check.ts';
import { openForExport } from '../stores/open.ts';
import { type CommandContext, CommandFailed } from './context.ts';
import { mediaPlaceOf } from './media-settings.ts';
import { createCommand, examples, type SettingFlags } from './options.ts';

interface MediaCheckFlags extends SettingFlags {
  readonly quick: boolean;
  readonly removeDamaged: boolean;
}

const HELP = `
Each file is read, since its name is the SHA-256 of its bytes. \`vitrine media fetch\` brings missing files again, and damaged
ones once they are removed. Exit code 1 if any file is missing or damaged.
${examples('vitrine media check', 'vitrine media check --remove-damaged')}`;

export const mediaCheckCommand = (context: CommandContext): Command =>
  createCommand('check', 'say which copies are missing or damaged', [
    'databaseUrl',
    'databaseUrlFile',
    'mediaDir',
  ])
    .option('--quick', 'look at the sizes only, without reading the files', false)
    .option('--remove-damaged', 'remove damaged files', false)
    .addHelpText('after', HELP)
    .action((flags: MediaCheckFlags) => runMediaCheck(flags, context));

async function runMediaCheck(
  { quick, removeDamaged, ...flags }: MediaCheckFlags,
  context: CommandContext,
): Promise<void> {
  const { database, mediaDir } = mediaPlaceOf(flags, context);
  const { runCheck } = await import('../media/check.ts');
  const signal = context.stopSignal();
  const counts = await runCheck({
    mediaDir,
    quick,
    removeDamaged,
    openArchive: () => openForExport(database),
    out: context.stderr,
    signal,
  }).catch((error) => Promise.reject(signal.aborted ? new CommandFailed('stopped') : error));
  const { files, sound, missing, damaged, removed } = counts;
  const text = `copies: ${sound} sound, ${missing} missing, ${damaged} damaged${removed > 0 ? ' and removed' : ''}`;
  context.report({ text, result: counts });
  if (missing + damaged > 0)
    throw new CommandFailed(`${missing + damaged} of ${files} copies ${adviceOf(counts)}`);
}

function adviceOf({ missing, damaged, removed }: CheckCounts): string {
  if (damaged === removed) return 'are not here: `vitrine media fetch` fetches them again';
  const which = missing === 0 ? 'are damaged' : 'are missing or damaged';
  return `${which}: \`vitrine media check --remove-damaged\`, then \`vitrine media fetch\`, fetches them again`;
}
