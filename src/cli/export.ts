// `vitrine export`
import { openForExport } from '../stores/open.ts';
import { createCommand, databaseOf, examples, type SettingFlags } from './options.ts';
import type { Surroundings } from './surroundings.ts';

export const exportCommand = (around: Surroundings) =>
  createCommand('export', 'write every record as NDJSON; importing that elsewhere gives the same answers')
    .argument('[file]', 'the file to write, compressed if it ends in .gz; none or -: standard output')
    .option('--media-urls', 'name pictures by the addresses of their copies, as they are served', false)
    .addHelpText('after', examples('vitrine export backup.ndjson.gz', 'vitrine export | wc -l'))
    .action((file: string | undefined, flags: ExportFlags) => runExport(file, flags, around));

interface ExportFlags extends SettingFlags {
  readonly mediaUrls: boolean;
}

async function runExport(file: string | undefined, flags: ExportFlags, around: Surroundings): Promise<void> {
  const isStdout = file === undefined || file === '-';
  if (isStdout) around.keepStdoutForData();
  const reader = await openForExport(databaseOf(flags, around));
  const { writeExport } = await import('../transfer/export.ts');
  try {
    await writeExport(reader, { file, withCopies: flags.mediaUrls, stdout: around.stdout });
    around.report({ text: '', result: { file: isStdout ? null : file } });
  } finally {
    await reader.close();
  }
}
