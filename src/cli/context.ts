// What a command may touch of the process it runs in, and the errors it ends with.
import type { Writable } from 'node:stream';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Terminal } from '../files/terminal.ts';

/** The process that a command line runs in. */
export interface Process {
  readonly environment: Record<string, string | undefined>;
  readonly stdin: AsyncIterable<Buffer>;
  readonly stdout: Writable;
  readonly stderr: Terminal;
  /** Runs the server until a signal stops it. */
  readonly serve: (config: Config, start: ServeStart) => Promise<void>;
  /** Aborted by the first signal to stop; the second one ends the process. */
  readonly stopSignal: (signals?: readonly NodeJS.Signals[]) => AbortSignal;
  /** From now on a signal ends the process at once, as by default: for work that cannot be interrupted, and is undone by itself. */
  readonly endBySignal: () => void;
  /** The signal that came, once it has. */
  readonly stoppedBy: () => NodeJS.Signals | undefined;
}

/** What a command does while the server that it started is running. */
export interface ServeHooks {
  /** Called once the server answers. */
  readonly onServing?: (log: Logger) => void;
  /** Called with a sentence about an error that nothing caught; without it, such an error ends the server. */
  readonly onUncaught?: (sentence: string, log: Logger) => void;
}

export interface ServeStart extends ServeHooks {
  /** What is odd about the settings, a sentence each. */
  readonly warnings: readonly string[];
  /** Whether the log is JSON on a terminal as well. */
  readonly json: boolean;
}

/** What a command did, for people and for programs. */
export interface CommandResult {
  /** Nothing is printed for an empty text. */
  readonly summary: string;
  /** Null when the command did not get that far. */
  readonly result: object | null;
  /** Why it was no success. */
  readonly failure?: string | undefined;
}

/** What a command sees of the process: its lines are printed as --json and --quiet say. */
export interface CommandContext extends Process {
  readonly json: boolean;
  readonly quiet: boolean;
  /** Reports what the command did; throws if that was no success. */
  readonly report: (outcome: CommandResult) => void;
  /** Standard output is for data, so the report goes to standard error. */
  readonly keepStdoutForData: () => void;
}

/** The heading of the settings in the help of a command, which come after its own options. */
export const SETTINGS_GROUP = 'Settings:';

/** The command ran and did not succeed. */
export class CommandFailed extends Error {}
/** The command line makes no sense. */
export class UsageError extends Error {}
/** The command did not succeed, and has said why. */
export class AlreadyReported extends Error {
  readonly exitCode: number;
  constructor(exitCode: number) {
    super('reported already');
    this.exitCode = exitCode;
  }
}
