// `vitrine import`
import { openForChange } from '../stores/open.ts';
import { createCommand, databaseOf, examples, type SettingFlags } from './options.ts';
import { Failed, Misused, type Surroundings } from './surroundings.ts';

interface ImportFlags extends SettingFlags {
  readonly replace: boolean;
  readonly skipInvalid: boolean;
  readonly rejects?: string;
}

export const importCommand = (around: Surroundings) =>
  createCommand('import', 'import records from files into the database: all of them, or none')
    .argument('<file...>', 'NDJSON, JSON or CSV, also as .gz; - is standard input')
    .option('--replace', 'make the files the whole of each family in them', false)
    .option('--skip-invalid', 'leave bad records out instead of refusing the whole import', false)
    .option('--rejects <file>', 'with --skip-invalid: write the bad records to this file')
    .addHelpText(
      'after',
      `
The type of a record is inferred from its fields; a saved response body can be imported as well. A record that is there
already (same type and id) is updated, so importing a file again changes nothing.
${examples('vitrine import people.ndjson posts.csv.gz', 'vitrine import --replace export.ndjson', 'vitrine import --skip-invalid --rejects bad.ndjson - < dump.json')}`,
    )
    .action((files: string[], flags: ImportFlags) => runImport(files, flags, around));

async function runImport(
  files: string[],
  { replace, skipInvalid, rejects, ...flags }: ImportFlags,
  around: Surroundings,
): Promise<void> {
  if (rejects !== undefined && !skipInvalid) throw new Misused('--rejects goes with --skip-invalid');
  if (files.filter((file) => file === '-').length > 1)
    throw new Misused('standard input can be read once only');
  const { importFiles, summary } = await import('../transfer/import.ts');
  const { createProgress } = await import('../transfer/progress.ts');
  const { stdin, stderr } = around;
  const progress = createProgress(stderr);
  const writer = await openForChange(databaseOf(flags, around));
  try {
    const { tallies, faulty, records, rejectsFault } = await importFiles(writer, {
      files,
      stdin,
      replace,
      skipInvalid,
      ...(rejects !== undefined && { rejects }),
      onProgress: progress.show,
      onFault(line) {
        progress.clear();
        stderr.write(`${line}\n`);
      },
    });
    progress.clear();
    const result = { records, faulty, imported: tallies ?? null };
    if (tallies === undefined) {
      around.report({ text: '', result });
      throw new Failed(`nothing was imported: ${faulty} of ${records} records are wrong`);
    }
    around.report({ text: `${summary(tallies)}${faulty > 0 ? `\n${faulty} left out` : ''}`, result });
    if (rejectsFault !== undefined)
      throw new Failed(`the good records were imported, but the others were not saved: ${rejectsFault}`);
  } finally {
    progress.clear();
    await writer.close();
  }
}
