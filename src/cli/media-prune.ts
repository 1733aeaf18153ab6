// `vitrine media prune`
import type { Command } from 'commander';
import { megabytes } from '../files/terminal.ts';
import { counted } from '../records/counted.ts';
import { openExisting, openForExport } from '../stores/open.ts';
import { type CommandContext, CommandFailed } from './context.ts';
import { MEDIA_SETTINGS, mediaPlaceOf } from './media-settings.ts';
import { createCommand, examples, numberArgument, type SettingFlags } from './options.ts';

interface PruneFlags extends SettingFlags {
  readonly grace: number;
}

const HELP = `
The first run only notes which copies no record names; a run that comes later than --grace removes them, unless a record
names them again. So an import that is under way loses nothing. The folder must belong to this database alone.
${examples('vitrine media prune', 'vitrine media prune --grace 0')}`;

export const mediaPruneCommand = (context: CommandContext): Command =>
  createCommand('prune', 'remove copies that no record names any more', MEDIA_SETTINGS)
    .option('--grace <hours>', 'how long no record must have named them', numberArgument(0, 10_000), 24)
    .addHelpText('after', HELP)
    .action((flags: PruneFlags) => runMediaPrune(flags, context));

async function runMediaPrune({ grace, ...flags }: PruneFlags, context: CommandContext): Promise<void> {
  const { database, mediaDir } = mediaPlaceOf(flags, context);
  await refuseForeign(database, mediaDir);
  const { runPrune } = await import('../media/prune.ts');
  const writer = await openExisting(database);
  try {
    const signal = context.stopSignal();
    const result = await runPrune({ mediaDir, grace: Math.round(grace * 3600), writer, signal });
    const { files, bytes, waiting } = result;
    const later =
      waiting === 0 ? '' : `; ${waiting} will be once no record has named them for ${grace} hours`;
    context.report({ text: `removed ${counted(files, 'file')}, ${megabytes(bytes)}${later}`, result });
  } finally {
    await writer.close();
  }
}

/** A database without a single copy has no folder: this one must be another's. */
async function refuseForeign(database: string, mediaDir: string): Promise<void> {
  const archive = await openForExport(database);
  try {
    for await (const _ of archive.media()) return;
  } finally {
    await archive.close();
  }
  throw new CommandFailed(`the database knows of no copies, so nothing in ${mediaDir} is removed`);
}
