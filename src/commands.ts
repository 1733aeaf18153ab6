// The command line: what each command takes, does and says.
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Readable, type Writable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { Command, CommanderError, Option } from 'commander';
import { type Config, flagOf, readConfig, SETTING_NAMES, SETTINGS, type SettingName, variableOf } from './config.ts';
import { shownDatabase } from './database-url.ts';
import { FAMILIES, type Family, KIND_NAMES, KINDS } from './records.ts';
import { checkDatabase, openForChange, openForExport, snapshotDatabase } from './stores/open.ts';
import { exportLines } from './transfer/export.ts';
import { importFiles, summary } from './transfer/import.ts';
import { createProgress, type Terminal } from './transfer/progress.ts';
import { userKey } from './user-name.ts';

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
    .configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: (text) => void stderr.write(text) });

  command('serve', 'answers HTTP requests, from the database or, without one, from sample users', SETTING_NAMES)
    .addHelpText('after', examples('vitrine serve', 'vitrine serve --database-url site.db --port 80 --base-url-a /'))
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
    .action((file: string, flags) => {
      snapshotDatabase(databaseOf(flags), file);
      say(`snapshot written to ${file}`);
    });

  command('check', 'reads the whole database and says whether it is sound, and what it holds')
    .addHelpText('after', examples('vitrine check'))
    .action(async (flags) => {
      const url = databaseOf(flags);
      const shown = shownDatabase(url);
      const { faults, counts } = await checkDatabase(url);
      if (faults.length > 0) throw new Failed(`${shown} is not sound: ${faults.join('; ').replace(/\s*\n\s*/g, ' ')}`);
      say(`${shown} is sound`);
      for (const kind of KIND_NAMES) say(`${KINDS[kind].plural}: ${counts?.[kind]}`);
    });

  return program;

  function command(name: string, description: string, settings: readonly SettingName[] = ['databaseUrl']): Command {
    const made = program.command(name).description(description);
    for (const setting of settings) {
      const { meaning, fallback } = SETTINGS[setting];
      const standard = fallback === '' ? '' : ` (default: ${fallback})`;
      made.addOption(new Option(`${flagOf(setting)} <value>`, `${meaning}${standard} [${variableOf(setting)}]`));
    }
    return made;
  }

  function configOf(flags: Partial<Record<SettingName, string>>): Config {
    return readConfig(flags, around.environment);
  }

  function databaseOf(flags: Partial<Record<SettingName, string>>): string {
    const { DATABASE_URL } = around.environment;
    const { databaseUrl } = readConfig({ databaseUrl: flags.databaseUrl }, { DATABASE_URL });
    if (databaseUrl === undefined) throw new Misused('name the database: set DATABASE_URL or give --database-url');
    return databaseUrl;
  }

  interface ImportFlags extends Partial<Record<SettingName, string>> {
    replace: boolean;
    skipInvalid: boolean;
    rejects?: string;
  }

  async function runImport(files: string[], { replace, skipInvalid, rejects, ...flags }: ImportFlags): Promise<void> {
    if (rejects !== undefined && !skipInvalid) throw new Misused('--rejects goes with --skip-invalid');
    if (files.filter((file) => file === '-').length > 1) throw new Misused('standard input can be read once only');
    const progress = createProgress(stderr);
    const writer = await openForChange(databaseOf(flags));
    try {
      const { tallies, faulty, records } = await importFiles(writer, {
        ...{ files, stdin: around.stdin, replace, skipInvalid, rejects, onProgress: progress.show },
        onFault(line) {
          progress.clear();
          stderr.write(`${line}\n`);
        },
      });
      progress.clear();
      if (tallies === undefined) throw new Failed(`nothing was imported: ${faulty} of ${records} records are wrong`);
      say(`${summary(tallies)}${faulty > 0 ? `\n${faulty} left out` : ''}`);
    } finally {
      progress.clear();
      await writer.close();
    }
  }

  async function runExport(file: string | undefined, flags: Partial<Record<SettingName, string>>): Promise<void> {
    const reader = await openForExport(databaseOf(flags));
    try {
      const lines = Readable.from(exportLines(reader), { objectMode: false, highWaterMark: 1 << 20 });
      if (file === undefined || file === '-') return await pipeline(lines, stdout, { end: false });
      const unfinished = `${file}.unfinished`;
      try {
        const out = createWriteStream(unfinished, { flush: true });
        await (file.endsWith('.gz') ? pipeline(lines, createGzip(), out) : pipeline(lines, out));
        await rename(unfinished, file);
      } finally {
        await rm(unfinished, { force: true });
      }
    } finally {
      await reader.close();
    }
  }

  async function runRemove(user: string, { family, ...flags }: { family: Family } & Record<string, string>) {
    const writer = await openForChange(databaseOf(flags));
    try {
      const removed = await writer.remove(family, userKey(user));
      if (removed === undefined) throw new Failed(`nobody in the ${family} family is called ${JSON.stringify(user)}`);
      say(`removed ${JSON.stringify(user)} and ${removed.items} items`);
    } finally {
      await writer.close();
    }
  }
}

const examples = (...lines: string[]) => `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;

/** Whether an error is commander's: it has said what it had to say. */
export const alreadySaid = (error: unknown): error is CommanderError => error instanceof CommanderError;
