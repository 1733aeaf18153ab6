// The command line.

import { constants } from 'node:os';
import { Command, CommanderError } from 'commander';
import { VERSION } from '../config/package-files.ts';
import { AlreadyReported } from '../server/already-reported.ts';
import { CommandFailed, explain } from '../stores/command-errors.ts';
import { type CommandContext, createOutput, type Process, safe } from './context.ts';
import { chooseExitCode, DONE, FAILED, MISUSED, SIGNALLED } from './exit-codes.ts';
import { HELP_FORMAT } from './help.ts';

/** Runs the command that `argv` names; the exit code. */
export async function runProgram(io: Process, argv: readonly string[]): Promise<number> {
  const names: string[] = [];
  const output = createOutput(io, argv, () => names.join(' ') || null);
  const words = namesFile(argv[0]) ? ['serve', ...argv] : argv;
  const isHelp = words[0] === 'help';
  const program = await createProgram(output.context, words.slice(isHelp ? 1 : 0).slice(0, 1));
  // Commands within a command, such as `media fetch`, follow it.
  for (const command of [program, ...program.commands])
    command.hook('preSubcommand', (_, found) => void names.push(found.name()));
  try {
    await program.parseAsync(isHelp ? helpWords(program, words.slice(1)) : words, { from: 'user' });
    return output.failure() === undefined ? output.end(DONE) : endFailed();
  } catch (error) {
    if (error instanceof AlreadyReported) return error.exitCode;
    if (!(error instanceof CommanderError)) return endFailed(error);
    if (error.exitCode === DONE) return DONE;
    // Commander has printed it already, unless its text was to become JSON.
    const sentence = error.message.replace(/^error: /, '').replaceAll('\n', ' ');
    return output.end(MISUSED, output.context.json ? [sentence] : []);
  }

  /** A command that reported a failure may not have been able to close something either: the failure is said. */
  function endFailed(thrown?: unknown): number {
    const failure = output.failure();
    const error = failure === undefined ? thrown : new CommandFailed(failure);
    const exitCode = chooseExitCode(error);
    const signal = exitCode === FAILED ? io.stoppedBy() : undefined;
    return output.end(
      signal === undefined ? exitCode : SIGNALLED + constants.signals[signal],
      explain(error),
    );
  }
}

/** No command has a dot or a slash in its name: `vitrine people.ndjson` serves the file. */
const namesFile = (word = '') => /^[^-].*[./\\]|^[./\\]/.test(word);

/** `help media fetch` is `media fetch --help`. An unknown command stays as it is, so that it is reported. */
function helpWords(program: Command, names: readonly string[]): string[] {
  const words = names.filter((name) => name !== 'help');
  let found: Command | undefined = program;
  for (const word of words)
    if (!word.startsWith('-') && found !== undefined && found.commands.length > 0)
      found = found.commands.find((command) => command.name() === word);
  return found === undefined ? words : [...words, '--help'];
}

/** Loads the commands with these names; of all others only the descriptions are known. */
export async function createProgram(context: CommandContext, names: readonly string[]): Promise<Command> {
  const program = new Command('vitrine')
    .description('Serve public profiles and their latest work as read-only JSON over HTTP.')
    .version(VERSION, '--version', 'print the version')
    .helpCommand(true)
    .showHelpAfterError('Try vitrine --help.')
    .exitOverride()
    .configureHelp(HELP_FORMAT)
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void (context.json || context.stderr.write(safe(text))),
    });
  for (const [name, { description, load }] of Object.entries(COMMANDS)) {
    const command = names.includes(name) ? (await load()).command(context) : new Command(name);
    command.copyInheritedSettings(program).showHelpAfterError(`Try vitrine ${name} --help.`);
    program.addCommand(command.description(description));
    for (const part of command.commands) part.copyInheritedSettings(command);
  }
  return program;
}

// Every command: what it does, and its file, which is loaded when the command is named.

interface CommandEntry {
  readonly description: string;
  readonly load: () => Promise<{ readonly command: (context: CommandContext) => Command }>;
}

const entry = (description: string, load: CommandEntry['load']): CommandEntry => ({ description, load });

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  serve: entry('answer HTTP requests from a database or from files', () => import('./serve.ts')),
  import: entry(
    'import all records of files into the database, or none of them',
    () => import('./import.ts'),
  ),
  mirror: entry(
    'copy users from a live site of this kind, through its public API',
    () => import('./mirror.ts'),
  ),
  compare: entry(
    'ask two sites for the same users, and say where their answers differ',
    () => import('./compare.ts'),
  ),
  media: entry('copy the pictures that records name, and look after the copies', () => import('./media.ts')),
  export: entry(
    'write every record as NDJSON, which gives the same answers when it is imported elsewhere',
    () => import('./export.ts'),
  ),
  changes: entry(
    'list the users whose answers changed, by the last change or since an earlier generation of the data',
    () => import('./changes.ts'),
  ),
  remove: entry('remove one user and all their items from the database', () => import('./remove.ts')),
  takedown: entry(
    'remove users or items for good, so that no import brings them back',
    () => import('./takedown.ts'),
  ),
  purge: entry(
    'purge from caches what changed since they were last purged, or everything',
    () => import('./purge.ts'),
  ),
  snapshot: entry(
    'write a compact copy of the database that can be served from read-only media',
    () => import('./snapshot.ts'),
  ),
  restore: entry(
    'replace the data of the database with the data of a snapshot, at once',
    () => import('./restore.ts'),
  ),
  config: entry('show the settings in force, and where each comes from', () => import('./config.ts')),
  migrate: entry('bring the database to the schema of this version', () => import('./migrate.ts')),
  count: entry('count users, lists and items by variant', () => import('./count.ts')),
  check: entry(
    'read the whole database and say whether it is sound, and what it holds',
    () => import('./check.ts'),
  ),
  samples: entry(
    'write any number of sample users as NDJSON, always the same ones',
    () => import('./samples.ts'),
  ),
  doctor: entry(
    'ask a public address as a front-end would, and say what a proxy broke and how to mend it',
    () => import('./doctor.ts'),
  ),
  print: entry(
    'print a configuration of another program, made from the settings in force',
    () => import('./print.ts'),
  ),
  publish: entry('make a file of every answer, for a static host', () => import('./publish.ts')),
};
