// The command line: one file for each command.
import { Command, CommanderError } from 'commander';
import { checkCommand } from './check.ts';
import { doctorCommand } from './doctor.ts';
import { exportCommand } from './export.ts';
import { importCommand } from './import.ts';
import { mirrorCommand } from './mirror.ts';
import { removeCommand } from './remove.ts';
import { serveCommand } from './serve.ts';
import { snapshotCommand } from './snapshot.ts';
import type { Surroundings } from './surroundings.ts';

const COMMANDS = [
  serveCommand,
  importCommand,
  mirrorCommand,
  exportCommand,
  removeCommand,
  snapshotCommand,
  checkCommand,
  doctorCommand,
];

export function createProgram(around: Surroundings): Command {
  const program = new Command('vitrine')
    .description('Serve public profiles and their latest work as read-only JSON over HTTP.')
    .helpCommand(true)
    .showHelpAfterError('Try vitrine --help.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void around.stdout.write(text),
      writeErr: (text) => void around.stderr.write(text),
    });
  for (const create of COMMANDS) {
    const command = create(around);
    program.addCommand(command.copyInheritedSettings(program));
  }
  return program;
}

/** Whether commander has reported the error already. */
export const wasReported = (error: unknown): error is CommanderError => error instanceof CommanderError;
