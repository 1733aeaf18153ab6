// `vitrine export`
import { createReport, describeCount } from '../import/terminal.ts';
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
      const { stdout, stderr } = context;
      const signal = context.stopSignal();
      using report = createReport(stderr);
      const total = Object.values(await archive.counts()).reduce((sum, count) => sum + count, 0);
      // A bar would stand among the records on a terminal.
      const isShown = file !== undefined || !stdout.isTTY;
      const show = (done: number) =>
        report.step('exporting', done / total, describeCount(done, total, 'records'));
      const onProgress = isShown ? show : undefined;
      await writeExport(archive, { file, withCopies: flags.mediaUrls, stdout, signal, onProgress });
      context.report({ summary: '', result: { file: file ?? null } });
    });
