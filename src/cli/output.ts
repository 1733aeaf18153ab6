// How a command's report is printed: text for people, one line of JSON with --json, and with --quiet only errors.
import { ConfigError } from '../config/setting-values.ts';
import type { Terminal } from '../files/terminal.ts';
import { printable } from '../records/printable.ts';
import { StoreError } from '../stores/errors.ts';
import {
  type CommandContext,
  CommandFailed,
  type CommandResult,
  type Process,
  UsageError,
} from './context.ts';

export const DONE = 0;
export const FAILED = 1;
export const MISUSED = 2;
/** Plus the number of the signal that ended the command, as shells count. */
export const SIGNALLED = 128;

export function createOutput(io: Process, argv: readonly string[], commandName: () => string | null) {
  const words = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : undefined);
  const json = words.includes('--json');
  const quiet = words.includes('--quiet');
  const notes: string[] = [];
  let outcome: CommandResult | undefined;
  let stdoutIsData = false;

  function report(now: CommandResult): void {
    outcome = now;
    if (!json && !quiet && now.summary !== '')
      (stdoutIsData ? io.stderr : io.stdout).write(`${safe(now.summary)}\n`);
    if (now.failure !== undefined) throw new CommandFailed(now.failure);
  }

  /** Says how the command ended; returns the exit code. */
  function end(exitCode: number, errors: readonly string[] = []): number {
    if (!json) for (const line of errors) io.stderr.write(`vitrine: ${printable(line)}\n`);
    else if (outcome !== undefined || exitCode !== DONE) {
      const { result = null } = outcome ?? {};
      const command = commandName();
      // The same members for every command; notes are the other lines that people see on standard error.
      const line = { command, ok: exitCode === DONE, exitCode, result, errors, notes };
      (stdoutIsData ? io.stderr : io.stdout).write(`${safeJson(line)}\n`);
    }
    return exitCode;
  }

  const stderr = json ? collecting(notes) : quiet ? quietly(io.stderr) : io.stderr;
  const keepStdoutForData = () => {
    stdoutIsData = true;
  };
  const context: CommandContext = { ...io, stderr, json, quiet, report, keepStdoutForData };
  return { context, end };
}

/** Without progress, and with every line kept. */
const collecting = (notes: string[]): Terminal => ({
  isQuiet: true,
  write: (text) => void notes.push(...text.split('\n').filter(Boolean)),
});

const quietly = (stderr: Terminal): Terminal => ({
  isQuiet: true,
  write: (text) => stderr.write(text),
});

/** Lines of text that are safe to print. */
export const safe = (text: string) => text.split('\n').map(printable).join('\n');

/** JSON with whole texts, but with escapes for what a terminal would act upon. */
const safeJson = (value: object) =>
  JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (text) =>
    text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );

/** An error as sentences, and the exit code. */
export function explain(error: unknown): { readonly lines: readonly string[]; readonly exitCode: number } {
  // Something could not be closed either.
  if (error instanceof SuppressedError) return explain(error.suppressed);
  if (error instanceof ConfigError) return { lines: error.mistakes, exitCode: MISUSED };
  if (error instanceof UsageError) return { lines: [error.message], exitCode: MISUSED };
  if (error instanceof CommandFailed || error instanceof StoreError)
    return { lines: [error.message], exitCode: FAILED };
  // A fault of this program: mending it needs the stack.
  if (isProgramFault(error)) return { lines: (error.stack ?? error.message).split('\n'), exitCode: FAILED };
  return { lines: [describe(error as NodeJS.ErrnoException)], exitCode: FAILED };
}

/** Errors of Node and of requests have a code or a cause. */
const isProgramFault = (error: unknown): error is Error =>
  (error instanceof TypeError || error instanceof ReferenceError) &&
  error.cause === undefined &&
  !('code' in error);

/** System calls. */
const CHANGES = /^(?:mkdir|mkdtemp|rename|rm|rmdir|symlink|link|unlink)$/;

function describe(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT' && error.path !== undefined) return `${error.path} does not exist`;
  if (error.code === 'EACCES' && error.path !== undefined)
    return `this user may not ${CHANGES.test(error.syscall ?? '') ? 'change' : 'read'} ${error.path}`;
  if (error.code === 'SQLITE_READONLY' || error.code === 'SQLITE_READONLY_DIRECTORY')
    return 'this user may not write the database: run the command as its owner, or as root';
  if (error.code === 'ENOSPC') return 'the disk is full: make room, and run the command again';
  if (error.code === 'EISDIR') return `${error.path ?? 'that'} is a folder`;
  // Node's message ends with the address.
  if (error.syscall === 'listen' || error.syscall === 'bind')
    return `${error.message.replace(/^.*?: /, 'cannot listen: ')}; set a free port, and an address of this machine`;
  return error.message;
}
