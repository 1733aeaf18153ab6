// The command line.
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { changesCommand, purgeCommand } from './changes.ts';
import { completionCommand } from './completion.ts';
import { AlreadyReported, type CommandContext, type Process } from './context.ts';
import {
  checkCommand,
  exportCommand,
  migrateCommand,
  removeCommand,
  restoreCommand,
  snapshotCommand,
} from './database.ts';
import { importCommand } from './import.ts';
import { mediaCommand } from './media.ts';
import { mirrorCommand } from './mirror.ts';
import { createOutput, DONE, explain, FAILED, MISUSED, SIGNALLED, safe } from './output.ts';
import { printCommand } from './print.ts';
import { publishCommand } from './publish.ts';
import { serveCommand } from './serve.ts';
import { compareCommand, doctorCommand } from './sites.ts';
import { takedownCommand } from './takedown.ts';

const COMMANDS = [
  serveCommand,
  importCommand,
  mirrorCommand,
  compareCommand,
  mediaCommand,
  exportCommand,
  changesCommand,
  removeCommand,
  takedownCommand,
  purgeCommand,
  snapshotCommand,
  restoreCommand,
  migrateCommand,
  checkCommand,
  doctorCommand,
  printCommand,
  publishCommand,
  completionCommand,
];

const PACKAGE = join(import.meta.dirname, '../../package.json');

/** Runs the command that `argv` names; the exit code. */
export async function runProgram(io: Process, argv: readonly string[]): Promise<number> {
  const names: string[] = [];
  const output = createOutput(io, argv, () => names.join(' ') || null);
  const program = createProgram(output.context);
  // Commands within a command, such as `media fetch`, follow it.
  for (const command of [program, ...program.commands])
    command.hook('preSubcommand', (_, found) => void names.push(found.name()));
  try {
    await program.parseAsync(namesFile(argv[0]) ? ['serve', ...argv] : argv, { from: 'user' });
    return output.end(DONE);
  } catch (error) {
    if (error instanceof AlreadyReported) return error.exitCode;
    if (!(error instanceof CommanderError)) {
      const { lines, exitCode } = explain(error);
      const signal = exitCode === FAILED ? io.stoppedBy() : undefined;
      return output.end(signal === undefined ? exitCode : SIGNALLED + constants.signals[signal], lines);
    }
    if (error.exitCode === DONE) return DONE;
    // Commander has printed it already, unless its text was to become JSON.
    const sentence = error.message.replace(/^error: /, '').replaceAll('\n', ' ');
    return output.end(MISUSED, output.context.json ? [sentence] : []);
  }
}

/** No command has a dot or a slash in its name: `vitrine people.ndjson` serves the file. */
const namesFile = (word = '') => /^[^-].*[./\\]|^[./\\]/.test(word);

export function createProgram(context: CommandContext): Command {
  const program = new Command('vitrine')
    .description('Serve public profiles and their latest work as read-only JSON over HTTP.')
    .version(JSON.parse(readFileSync(PACKAGE, 'utf8')).version, '--version', 'print the version')
    .helpCommand(true)
    .showHelpAfterError('Try vitrine --help.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void (context.json || context.stderr.write(safe(text))),
    });
  for (const create of COMMANDS) {
    const command = create(context);
    program.addCommand(command.copyInheritedSettings(program));
    for (const part of command.commands) part.copyInheritedSettings(command);
  }
  return program;
}
