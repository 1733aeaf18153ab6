// `vitrine import`
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ImportOptions } from '../import/import.ts';
import { countedPart } from '../records/printable.ts';
import { openWriter } from '../stores/open.ts';
import { type CommandContext, CommandFailed, UsageError } from './context.ts';
import { openNotifying } from './notifying.ts';
import {
  chooseDatabase,
  createCommand,
  examples,
  familyOption,
  forReport,
  lenientOption,
  maxRemovedOption,
  type SettingFlags,
  unescapeOption,
} from './options.ts';

/** The files of src/import/maps. */
const READY_MAPS = 'bluesky, ghost, instagram, mastodon, twitter or wordpress';

type ImportFlags = SettingFlags &
  ReadingFlags &
  Pick<ImportOptions, 'replace' | 'maxRemoved' | 'skipInvalid' | 'rejects' | 'dryRun'>;

/** What files hold, and how they are read. */
export const FILES_MEANING =
  'NDJSON, JSON, CSV or HAR; with --map also XML, and folders of archives; also as .gz';

const READING = [
  'map',
  'filesUrl',
  'exportUser',
  'family',
  'dates',
  'encoding',
  'lenient',
  'unescape',
] as const;

export type ReadingFlags = Pick<ImportOptions, (typeof READING)[number]>;

/** Those of a command's flags that say how files are read. */
export const pickReading = (flags: ReadingFlags): ReadingFlags =>
  Object.fromEntries(READING.map((name) => [name, flags[name]]));

export const addReadingOptions = (command: Command) =>
  command
    .option('--map <map>', `make records of other objects with a JavaScript module, or with ${READY_MAPS}`)
    .option('--files-url <url>', "where relative pictures, and with --map an export's own, are published")
    .option('--export-user <name>', 'with --map: whose export it is, where the export does not say it')
    .addOption(familyOption('the family of profiles that fit both'))
    .addOption(
      new Option(
        '--dates <order>',
        'of day and month in dates of spreadsheets: 28.2.2026, 2/28/2026',
      ).choices(['dmy', 'mdy']),
    )
    .addOption(
      new Option('--encoding <name>', 'of the files, such as windows-1252 (default: UTF-8)').argParser(
        encodingArgument,
      ),
    )
    .addOption(lenientOption())
    .addOption(unescapeOption());

export const command = (context: CommandContext) =>
  addReadingOptions(createCommand('import'))
    .argument('<file...>', `${FILES_MEANING}; - is standard input`)
    .option('--replace', 'make the files the whole of each family in them', false)
    .addOption(maxRemovedOption('--replace'))
    .option('--skip-invalid', 'leave bad records out instead of refusing the whole import', false)
    .option('--rejects <file>', 'with --skip-invalid: write the bad records to this file')
    .option('--dry-run', 'do everything but the commit, and report the same', false)
    .addHelpText(
      'after',
      `
The type of a record is inferred from its fields; a saved response body can be imported as well. A record that is there
already (same type and id) is updated, so importing a file again changes nothing.
${examples('vitrine import people.ndjson posts.csv.gz', 'vitrine import --replace export.ndjson', 'vitrine import --skip-invalid --rejects bad.ndjson - < dump.json', 'vitrine import --dry-run --map mastodon archive/')}`,
    )
    .action((files: string[], flags: ImportFlags) => runImport(files, flags, context));

function encodingArgument(name: string): string {
  try {
    return new TextDecoder(name).encoding;
  } catch {
    throw new InvalidArgumentError('It must be the name of an encoding, such as windows-1252.');
  }
}

async function runImport(files: string[], flags: ImportFlags, context: CommandContext): Promise<void> {
  if (flags.rejects !== undefined && !flags.skipInvalid)
    throw new UsageError('--rejects goes with --skip-invalid');
  if (files.filter((file) => file === '-').length > 1)
    throw new UsageError('standard input can be read once only');
  const { importFiles, openInputs } = await import('../import/import.ts');
  const { summary } = await import('../import/report.ts');
  const { stdin, stderr: out, endBySignal: onWriting } = context;
  const { dryRun } = flags;
  const database = chooseDatabase(flags, context);
  const signal = context.stopSignal();
  const options = { ...flags, files, stdin, signal, out, onWriting };
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
  for (const warning of warnings) out.write(`warning: ${warning}\n`);
  for (const note of notes) out.write(`${note}\n`);
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
