// What a command may touch of the process it runs in, and the errors it ends with.
import type { Writable } from 'node:stream';
import type { Config } from '../config/config.ts';
import type { Terminal } from '../transfer/progress.ts';

export interface Surroundings {
  readonly environment: Record<string, string | undefined>;
  readonly stdin: AsyncIterable<Buffer>;
  readonly stdout: Writable;
  readonly stderr: Terminal;
  /** Runs the server until it is told to stop. */
  readonly serve: (config: Config) => Promise<void>;
  /** Aborted by the first signal to stop; the second one ends the process. */
  readonly stopSignal: () => AbortSignal;
}

/** The command ran and did not succeed. */
export class Failed extends Error {}
/** The command line makes no sense. */
export class Misused extends Error {}
