// `vitrine export`
import { openForExport } from '../stores/open.ts';
import type { CommandContext } from './context.ts';
import { createCommand, databaseOf, examples, type SettingFlags } from './options.ts';

export const exportCommand = (context: CommandContext) =>
  createCommand('export', 'write every record as NDJSON; importing that elsewhere gives the same answers')
    .argument('[file]', 'the file to write, compressed if it ends in .gz; none or -: standard output')
    .option('--media-urls', 'name pictures by the addresses of their copies, as they are served', false)
    .addHelpText('after', examples('vitrine export backup.ndjson.gz', 'vitrine export | wc -l'))
    .action((file: string | undefined, flags: ExportFlags) => runExport(file, flags, context));

interface ExportFlags extends SettingFlags {
  readonly mediaUrls: boolean;
}

async function runExport(
  file: string | undefined,
  flags: ExportFlags,
  context: CommandContext,
): Promise<void> {
  const isStdout = file === undefined || file === '-';
  if (isStdout) context.keepStdoutForData();
  const reader = await openForExport(databaseOf(flags, context));
  const { writeExport } = await import('../import/export.ts');
  try {
    await writeExport(reader, { file, withCopies: flags.mediaUrls, stdout: context.stdout });
    context.report({ text: '', result: { file: isStdout ? null : file } });
  } finally {
    await reader.close();
  }
}
