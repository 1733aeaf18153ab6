// `vitrine import`

import type { ImportOptions, ReadingOptions } from '../import/import.ts';
import { countedPart } from '../records/printable.ts';
import { CommandFailed, UsageError } from '../stores/command-errors.ts';
import { openWriter } from '../stores/open.ts';
import { openNotifying } from '../tools/notify/notifying.ts';
import type { CommandContext } from './context.ts';
import {
  chooseDatabase,
  createCommand,
  examples,
  forReport,
  maxRemovedOption,
  type SettingFlags,
} from './options.ts';
import { addReadingOptions, FILES_MEANING } from './reading-options.ts';

type ImportFlags = SettingFlags &
  ReadingOptions &
  Pick<ImportOptions, 'replace' | 'maxRemoved' | 'skipInvalid' | 'rejects' | 'dryRun'>;

const RESULT =
  '`records`, `faulty`, `dryRun`, `emptied`, `unescaped` and `dropped` fields, `imported` (null, or for each kind `new`, `changed`, `unchanged`, `removed`, `takenDown`)';

export const command = (context: CommandContext) =>
  addReadingOptions(
    createCommand('import', RESULT)
      .argument('<file...>', `${FILES_MEANING}; - is standard input`)
      .option('--replace', 'make the files the whole of each family in them', false)
      .addOption(maxRemovedOption('--replace'))
      .option('--skip-invalid', 'leave bad records out instead of refusing the whole import', false)
      .option('--rejects <file>', 'with --skip-invalid: write the bad records to this file')
      .option('--dry-run', 'do everything but the commit, and report the same', false),
  )
    .addHelpText(
      'after',
      `
The fields of a record tell its kind. A saved response body can be imported as well. A record with the kind and id of
an existing record replaces it. So importing a file again changes nothing.
${examples('vitrine import people.ndjson posts.csv.gz', 'vitrine import --replace export.ndjson', 'vitrine import --skip-invalid --rejects bad.ndjson - < dump.json', 'vitrine import --dry-run --map mastodon archive/')}`,
    )
    .action((files: string[], flags: ImportFlags) => runImport(files, flags, context));

async function runImport(files: string[], flags: ImportFlags, context: CommandContext): Promise<void> {
  if (flags.rejects !== undefined && !flags.skipInvalid)
    throw new UsageError('--rejects goes with --skip-invalid');
  if (files.filter((file) => file === '-').length > 1)
    throw new UsageError('standard input can be read once only');
  const { importFiles, openInputs } = await import('../import/import.ts');
  const { summary } = await import('../import/report.ts');
  const { dryRun } = flags;
  const database = chooseDatabase(flags, context);
  const signal = context.stopSignal();
  const options = {
    ...flags,
    files,
    stdin: context.stdin,
    signal,
    out: context.stderr,
    onWriting: context.endBySignal,
  };
  const refuse = (error: unknown): never => {
    throw signal.aborted && isAbort(error) ? new CommandFailed('stopped: nothing was imported') : error;
  };
  const inputs = await openInputs(options).catch(refuse);
  await using writer = await (dryRun
    ? openWriter(database, { isTrial: true })
    : openNotifying(database, context));
  const { tallies, warnings, notes, mended, unused, faulty, records } = await importFiles(
    writer,
    options,
    inputs,
  ).catch(refuse);
  for (const warning of warnings) context.stderr.write(`warning: ${warning}\n`);
  for (const note of notes) context.stderr.write(`${note}\n`);
  const result = {
    records,
    faulty,
    dryRun,
    ...forReport(mended),
    dropped: unused,
    imported: tallies ?? null,
  };
  if (tallies === undefined) {
    const failure = `nothing was imported: ${countedPart(faulty, records, 'record')} wrong`;
    return context.report({ summary: '', result, failure });
  }
  const leftOut = faulty > 0 ? `\n${faulty} left out` : '';
  const trial = dryRun ? '\ndry run: nothing was changed' : '';
  context.report({ summary: `${summary(tallies)}${leftOut}${trial}`, result });
}

const isAbort = (error: unknown) => error instanceof Error && error.name === 'AbortError';
