// `vitrine export`
import { openArchive } from '../stores/open.ts';
import type { CommandContext } from './context.ts';
import { chooseDatabase, createCommand, examples, outputArgument, type SettingFlags } from './options.ts';

const RESULT = '`file`, null for standard output';

export const command = (context: CommandContext) =>
  createCommand('export', RESULT)
    .addArgument(outputArgument())
    .option('--media-urls', 'name pictures by the addresses of their copies, as they are served', false)
    .addHelpText('after', examples('vitrine export backup.ndjson.gz', 'vitrine export | wc -l'))
    .action(async (file: string | undefined, flags: SettingFlags & { mediaUrls: boolean }) => {
      if (file === undefined) context.keepStdoutForData();
      await using archive = await openArchive(chooseDatabase(flags, context));
      const { writeExport } = await import('../import/export.ts');
      const { createRunReport } = await import('../tools/remote/run-report.ts');
      const { stdout, stderr } = context;
      const signal = context.stopSignal();
      using report = createRunReport(stderr, 'exporting', 'records');
      const total = Object.values(await archive.counts()).reduce((sum, count) => sum + count, 0);
      // A bar would stand among the records on a terminal.
      const isShown = file !== undefined || !stdout.isTTY;
      const onProgress = isShown ? (done: number) => report.progress(done, total) : undefined;
      await writeExport(archive, { file, withCopies: flags.mediaUrls, stdout, signal, onProgress });
      context.report({ summary: '', result: { file: file ?? null } });
    });
