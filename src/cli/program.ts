// The command line: what each command takes, does and says.
import type { Writable } from 'node:stream';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import {
  type Config,
  flagOf,
  readConfig,
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
  variableOf,
} from '../config/config.ts';
import { isPostgresUrl, shownDatabase } from '../config/database-url.ts';
import type { DoctorOptions } from '../doctor/doctor.ts';
import type { MirrorFlags } from '../mirror/run.ts';
import { FAMILIES, type Family, KIND_NAMES, KINDS } from '../records/kinds.ts';
import { userKey } from '../records/user-name.ts';
import { readBase, type Variant } from '../remote/lookups.ts';
import {
  checkDatabase,
  openForChange,
  openForExport,
  openForLookups,
  repairDatabase,
  snapshotDatabase,
} from '../stores/open.ts';
import type { Terminal } from '../transfer/progress.ts';

/** What a command may touch of the process it runs in. */
export interface Surroundings {
  readonly environment: Record<string, string | undefined>;
  readonly stdin: AsyncIterable<Buffer>;
  readonly stdout: Writable;
  readonly stderr: Terminal;
  /** Runs the server until it is told to stop. */
  readonly serve: (config: Config) => Promise<void>;
}

/** Done, but not what was asked for. */
export class Failed extends Error {}
/** Asked for in a way that cannot be. */
export class Misused extends Error {}

export function createProgram(around: Surroundings): Command {
  const { stdout, stderr } = around;
  const say = (text: string) => void stdout.write(`${text}\n`);
  const program = new Command('vitrine')
    .description("Serves people's public profiles and their latest work as JSON, read-only, over HTTP.")
    .helpCommand(true)
    .showHelpAfterError('Try vitrine --help.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
    });

  command(
    'serve',
    'answers HTTP requests, from the database or, without one, from sample users',
    SETTING_NAMES,
  )
    .addHelpText(
      'after',
      examples('vitrine serve', 'vitrine serve --database-url site.db --port 80 --base-url-a /'),
    )
    .action((flags) => around.serve(configOf(flags)));

  command('import', 'takes records from files into the database: all of them, or none')
    .argument('<file...>', 'NDJSON, JSON or CSV, also as .gz; - is standard input')
    .option('--replace', 'make the files the whole of each family in them', false)
    .option('--skip-invalid', 'leave bad records out instead of refusing the whole', false)
    .option('--rejects <file>', 'with --skip-invalid: write the bad records to this file')
    .addHelpText(
      'after',
      `
What a record is, its members tell; a saved response body is read as well. Records that are there already (the same
kind and id) are brought up to date, so importing a file again changes nothing.
${examples('vitrine import people.ndjson posts.csv.gz', 'vitrine import --replace export.ndjson', 'vitrine import --skip-invalid --rejects bad.ndjson - < dump.json')}`,
    )
    .action(runImport);

  command('mirror', 'takes users over from a live site of this kind, through its public API')
    .addOption(variantOption().makeOptionMandatory())
    .addOption(
      new Option('--from <base-url>', "the variant's base address there")
        .argParser(baseOption)
        .makeOptionMandatory(),
    )
    .option('--user <name...>', 'whom to ask for')
    .option('--users <file>', 'a file of user names, one a line; - is standard input')
    .option('--prune', 'remove users whom the site does not know any more', false)
    .option('--state <file>', 'where to remember what was asked for already (default: beside the database)')
    .option('--restart', 'do not go on where an unfinished run stopped', false)
    .option('--concurrency <number>', 'requests at a time', numberOption(1, 64), 4)
    .option('--rate <number>', 'requests per second', numberOption(0.01, 10_000), 10)
    .option('--timeout <seconds>', 'how long one request may take', numberOption(0.1, 600), 30)
    .option('--retries <number>', 'how often a failed request is made again', numberOption(0, 20), 4)
    .addHelpText(
      'after',
      `
Each user is taken over whole, or left as they were. Items that the site does not list any more are kept: it lists 15.
The next run asks for news only; a run that was stopped goes on where it was. Exit code 1 if any user failed.
${examples('vitrine mirror --variant b --from https://example.org/b --user ada nikos', 'vitrine mirror --variant a --from https://example.org --users names.txt --prune')}`,
    )
    .action(runMirror);

  command('export', 'writes every record as NDJSON; importing that elsewhere gives the same answers')
    .argument('[file]', 'where to; .gz is compressed; none or -: standard output')
    .addHelpText('after', examples('vitrine export backup.ndjson.gz', 'vitrine export | wc -l'))
    .action(runExport);

  command('remove', 'takes one user and all their items out of the database')
    .argument('<user>', 'the user name; letter case does not matter')
    .addOption(new Option('--family <family>', 'whose user').choices(FAMILIES).makeOptionMandatory())
    .addHelpText('after', examples('vitrine remove --family portfolio ada'))
    .action(runRemove);

  command('snapshot', 'writes a compact copy of the database that can be served from read-only media')
    .argument('<file>', 'where to; one that is there is replaced at once')
    .addHelpText('after', examples('vitrine snapshot /backup/site.db'))
    .action(async (file: string, flags) => {
      await snapshotDatabase(databaseOf(flags), file);
      say(`snapshot written to ${file}`);
    });

  command('check', 'reads the whole database and says whether it is sound, and what it holds')
    .option('--repair', 'rebuild lists and ETags that do not match the items and records', false)
    .addHelpText('after', examples('vitrine check', 'vitrine check --repair'))
    .action(async ({ repair, ...flags }) => {
      const url = databaseOf(flags);
      if (repair) say(`repaired ${await repairDatabase(url)} lists and ETags`);
      const shown = shownDatabase(url);
      const { faults, counts } = await checkDatabase(url);
      if (faults.length > 0)
        throw new Failed(`${shown} is not sound: ${faults.join('; ').replace(/\s*\n\s*/g, ' ')}`);
      say(`${shown} is sound`);
      for (const kind of KIND_NAMES) say(`${KINDS[kind].plural}: ${counts?.[kind]}`);
    });

  command(
    'doctor',
    'asks a public address what a front-end would, and says what a proxy broke and how to mend it',
    [],
  )
    .addArgument(program.createArgument('<base-url>', 'the public base address').argParser(baseOption))
    .addOption(variantOption())
    .option('--user <name>', 'a user who is there (default: looked for among the sample users)')
    .option('--timeout <seconds>', 'how long one request may take', numberOption(0.1, 600), 10)
    .addHelpText(
      'after',
      examples('vitrine doctor https://example.org/b --user ada', 'vitrine doctor http://127.0.0.1:8080'),
    )
    .action(runDoctor);

  return program;

  function command(
    name: string,
    description: string,
    settings: readonly SettingName[] = ['databaseUrl'],
  ): Command {
    const made = program.command(name).description(description);
    for (const setting of settings) {
      const { meaning, fallback } = SETTINGS[setting];
      const standard = fallback === '' ? '' : ` (default: ${fallback})`;
      made.addOption(
        new Option(`${flagOf(setting)} <value>`, `${meaning}${standard} [${variableOf(setting)}]`),
      );
    }
    return made;
  }

  function configOf(flags: Partial<Record<SettingName, string>>): Config {
    return readConfig(flags, around.environment);
  }

  function databaseOf(flags: Partial<Record<SettingName, string>>): string {
    const { DATABASE_URL } = around.environment;
    const { databaseUrl } = readConfig({ databaseUrl: flags.databaseUrl }, { DATABASE_URL });
    if (databaseUrl === undefined)
      throw new Misused('name the database: set DATABASE_URL or give --database-url');
    return databaseUrl;
  }

  interface ImportFlags extends Partial<Record<SettingName, string>> {
    replace: boolean;
    skipInvalid: boolean;
    rejects?: string;
  }

  async function runImport(
    files: string[],
    { replace, skipInvalid, rejects, ...flags }: ImportFlags,
  ): Promise<void> {
    if (rejects !== undefined && !skipInvalid) throw new Misused('--rejects goes with --skip-invalid');
    if (files.filter((file) => file === '-').length > 1)
      throw new Misused('standard input can be read once only');
    const { importFiles, summary } = await import('../transfer/import.ts');
    const { createProgress } = await import('../transfer/progress.ts');
    const progress = createProgress(stderr);
    const writer = await openForChange(databaseOf(flags));
    try {
      const { tallies, faulty, records, rejectsFault } = await importFiles(writer, {
        ...{ files, stdin: around.stdin, replace, skipInvalid, rejects, onProgress: progress.show },
        onFault(line) {
          progress.clear();
          stderr.write(`${line}\n`);
        },
      });
      progress.clear();
      if (tallies === undefined)
        throw new Failed(`nothing was imported: ${faulty} of ${records} records are wrong`);
      say(`${summary(tallies)}${faulty > 0 ? `\n${faulty} left out` : ''}`);
      if (rejectsFault !== undefined)
        throw new Failed(`the good records were imported, but the others were not saved: ${rejectsFault}`);
    } finally {
      progress.clear();
      await writer.close();
    }
  }

  type WholeMirrorFlags = MirrorFlags &
    Partial<Record<SettingName, string>> & { user?: string[]; users?: string };

  async function runMirror({ user, users, ...flags }: WholeMirrorFlags): Promise<void> {
    if ((user === undefined) === (users === undefined))
      throw new Misused('say whom: either --user NAME… or --users FILE');
    const database = databaseOf(flags);
    const { moveIn } = await import('../mirror/run.ts');
    const names = users === undefined ? { names: user ?? [] } : { file: users, stdin: around.stdin };
    if (flags.state === undefined && isPostgresUrl(database))
      throw new Misused('with PostgreSQL, name a file by --state');
    const state = flags.state ?? `${database}.mirror`;
    const [writer, open] = [await openForChange(database), () => openForLookups(database)];
    try {
      const { said, failed } = await moveIn({ ...flags, state }, names, writer, open, stderr);
      if (said !== undefined) say(said);
      if (failed !== undefined) throw new Failed(failed);
    } finally {
      await writer.close();
    }
  }

  async function runDoctor(base: URL, options: Omit<DoctorOptions, 'base'>): Promise<void> {
    const { examine } = await import('../doctor/doctor.ts');
    const { report, broken } = await examine({ ...options, base, timeout: options.timeout * 1000 });
    say(report);
    if (broken > 0) throw new Failed(`${broken === 1 ? 'one thing is' : `${broken} things are`} broken`);
  }

  async function runExport(
    file: string | undefined,
    flags: Partial<Record<SettingName, string>>,
  ): Promise<void> {
    const reader = await openForExport(databaseOf(flags));
    const { writeExport } = await import('../transfer/export.ts');
    try {
      await writeExport(reader, file, stdout);
    } finally {
      await reader.close();
    }
  }

  async function runRemove(user: string, { family, ...flags }: { family: Family } & Record<string, string>) {
    const writer = await openForChange(databaseOf(flags));
    try {
      const removed = await writer.remove(family, userKey(user));
      if (removed === undefined)
        throw new Failed(`nobody in the ${family} family is called ${JSON.stringify(user)}`);
      say(`removed ${JSON.stringify(user)} and ${removed.items} items`);
    } finally {
      await writer.close();
    }
  }
}

const variantOption = () =>
  new Option('--variant <variant>', 'which of the three the site is').choices([
    'a',
    'b',
    'c',
  ] satisfies Variant[]);

function baseOption(text: string): URL {
  const base = readBase(text);
  if (typeof base === 'string') throw new InvalidArgumentError(`It ${base}.`);
  return base;
}

const numberOption = (least: number, most: number) => (text: string) => {
  const number = Number(text);
  if (!(number >= least && number <= most) || text.trim() === '')
    throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`);
  return number;
};

const examples = (...lines: string[]) => `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;

/** Whether an error is commander's: it has said what it had to say. */
export const alreadySaid = (error: unknown): error is CommanderError => error instanceof CommanderError;
