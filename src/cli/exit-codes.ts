// The exit codes of the program.
import { ConfigError } from '../config/setting-values.ts';
import { UsageError } from '../stores/command-errors.ts';

export const DONE = 0;
export const FAILED = 1;
export const MISUSED = 2;
/** Plus the number of the signal that ended the command, as shells count. */
export const SIGNALLED = 128;

/** The exit code of a command that ends with this error. */
export function chooseExitCode(error: unknown): number {
  // Something could not be closed either.
  if (error instanceof SuppressedError) return chooseExitCode(error.suppressed);
  return error instanceof ConfigError || error instanceof UsageError ? MISUSED : FAILED;
}
