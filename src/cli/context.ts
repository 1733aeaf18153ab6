// What a command may touch of the process it runs in, and how its report is printed.

import type { Terminal } from '../import/terminal.ts';
import { printable } from '../records/printable.ts';
import type { ServerProcess } from '../server/serve.ts';
import { DONE } from './exit-codes.ts';

/** The process that a command line runs in. */
export interface Process extends ServerProcess {
  readonly stdin: AsyncIterable<Buffer>;
  readonly stderr: Terminal;
  /** What the process has taken so far. */
  readonly figures: () => Figures;
  /** Aborted by the first signal to stop; the second one ends the process. */
  readonly stopSignal: (signals?: readonly NodeJS.Signals[]) => AbortSignal;
  /** From now on a signal ends the process at once, as by default: for work that cannot be interrupted, and is undone by itself. */
  readonly endBySignal: () => void;
  /** The same until the action is done. */
  readonly whileEndedBySignal: <T>(action: () => Promise<T>) => Promise<T>;
  /** From now on an error of standard output, such as that nothing reads it, is the command's. Otherwise it ends the process. */
  readonly handleOutputErrors: () => void;
  /** The signal that came, once it has. */
  readonly stoppedBy: () => NodeJS.Signals | undefined;
}

/** What a command took. What the server of a PostgreSQL database takes for it is not in them. */
export interface Figures {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** To disks: not what went into memory only. */
  readonly bytesWritten: number;
}

/** What a command did, for people and for programs. */
export interface CommandResult {
  /** Nothing is printed for an empty text. */
  readonly summary: string;
  /** Null when the command did not get that far. */
  readonly result: object | null;
  /** Why it was no success: the exit code is 1. */
  readonly failure?: string | undefined;
}

/** What a command sees of the process: its lines are printed as --json and --quiet say. */
export interface CommandContext extends Process {
  readonly json: boolean;
  readonly quiet: boolean;
  /** Reports what the command did. */
  readonly report: (outcome: CommandResult) => void;
  /** Standard output is for data, so the report goes to standard error. */
  readonly keepStdoutForData: () => void;
}

/** The heading of the settings in the help of a command, which come after its own options. */
export const SETTINGS_GROUP = 'Settings:';

// How a command's report is printed: text for people, one line of JSON with --json, and with --quiet only errors.

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
  }

  /** Prints the end of the report; returns the exit code. */
  function end(exitCode: number, errors: readonly string[] = []): number {
    if (!json) for (const line of errors) io.stderr.write(`vitrine: ${printable(line)}\n`);
    else if (outcome !== undefined || exitCode !== DONE) {
      const { result = null } = outcome ?? {};
      const command = commandName();
      // The same members for every command; notes are the other lines that people see on standard error.
      const line = { command, ok: exitCode === DONE, exitCode, result, errors, notes, figures: io.figures() };
      (stdoutIsData ? io.stderr : io.stdout).write(`${safeJson(line)}\n`);
    }
    return exitCode;
  }

  const screen = quiet ? quietly(io.stderr) : io.stderr;
  const stderr = json ? collecting(notes, io.stderr, quiet) : screen;
  const keepStdoutForData = () => {
    stdoutIsData = true;
  };
  const context: CommandContext = { ...io, stderr, json, quiet, report, keepStdoutForData };
  return { context, end, failure: () => outcome?.failure };
}

/** Every line is kept. Only progress is shown. */
const collecting = (notes: string[], progress: Terminal, isQuiet: boolean): Terminal => ({
  isQuiet,
  progress,
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
