// `vitrine export`
import { openArchive } from '../stores/open.ts';
import type { CommandContext } from './context.ts';
import { chooseDatabase, createCommand, examples, outputArgument, type SettingFlags } from './options.ts';

export const command = (context: CommandContext) =>
  createCommand('export')
    .addArgument(outputArgument())
    .option('--media-urls', 'name pictures by the addresses of their copies, as they are served', false)
    .addHelpText('after', examples('vitrine export backup.ndjson.gz', 'vitrine export | wc -l'))
    .action(async (file: string | undefined, flags: SettingFlags & { mediaUrls: boolean }) => {
      if (file === undefined) context.keepStdoutForData();
      await using archive = await openArchive(chooseDatabase(flags, context));
      const { writeExport } = await import('../import/export.ts');
      const { stdout } = context;
      const signal = context.stopSignal();
      await writeExport(archive, { file, withCopies: flags.mediaUrls, stdout, signal });
      context.report({ summary: '', result: { file: file ?? null } });
    });
