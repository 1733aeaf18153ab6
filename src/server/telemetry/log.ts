// Logs one JSON line per event to standard output; readable lines on a developer's terminal.

import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from '../../config/settings.ts';

export function createLog(config: Pick<Config, 'logLevel'>, out: DestinationStream): Logger {
  return pino(
    {
      level: config.logLevel,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      // What is not an error, such as the summary of many, is logged as it is.
      serializers: { err: (err) => (err instanceof Error ? pino.stdSerializers.err(err) : err) },
    },
    out,
  );
}

/** Changes the text of each line, such as for a terminal. */
type Format = (line: string) => string;

/** The log of a server, which outlives its output. */
export function createServerLog(
  config: Pick<Config, 'logLevel'>,
  out: Writable,
  format: Format = (line) => line,
): { readonly log: Logger; readonly output: LogOutput } {
  const output = createLogOutput(out, (lines) => log.error({ lines }, 'log lines were dropped'));
  const log = createLog(config, { write: (line) => output.write(format(line)) });
  return { log, output };
}

/** Lines for people. Only a terminal needs it, and loading it takes time. */
export async function prettyFormat(): Promise<Format> {
  const { default: pretty } = await import('pino-pretty');
  return pretty.prettyFactory({ translateTime: 'HH:MM:ss' });
}

// Where the server's log is written. Its reader may be slow, stuck or gone and its disk full. The server goes on, and drops
// and counts lines that cannot be written. Node's stream for standard output keeps what waits, continues when the reader
// does, and takes further lines after an error. Only the bound and the count are added here. (pino's own destination does not
// fit. In its code, the flush at exit never ends on a full disk, and after EPIPE nothing is counted.)

/** Of lines that wait for the reader. */
const MOST_WAITING_CHARACTERS = 1 << 20;
const FLUSH_MS = 500;

type LogOutput = ReturnType<typeof createLogOutput>;

/** `onGap` is called with the number of lines dropped, once lines can be written again. */
function createLogOutput(out: Writable, onGap: (lines: number) => void) {
  let dropped = 0;
  let reported = 0;
  let failing = false;
  // Each write has its error reported to `written`.
  out.on('error', () => {});

  function written(error?: Error | null): void {
    failing = Boolean(error);
    if (failing) dropped++;
    else if (dropped > reported && hasRoom()) reportGap();
  }

  function reportGap(): void {
    const lines = dropped - reported;
    reported = dropped;
    onGap(lines);
  }

  const hasRoom = () => out.writableLength < MOST_WAITING_CHARACTERS;

  return {
    write(line: string): void {
      // The disk may have become full in the middle of a line.
      if (hasRoom()) out.write(failing ? `\n${line}` : line, written);
      else dropped++;
    },

    dropped: () => dropped,

    /** Waits until everything is written, but not long: the reader may be stuck. */
    async flush(): Promise<void> {
      const flushed = new Promise<void>((resolve) => out.write('', () => resolve()));
      await Promise.race([flushed, delay(FLUSH_MS)]);
    },
  };
}
