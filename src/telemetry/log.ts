// Logs one JSON line per event to standard output; readable lines on a developer's terminal.
import type { Writable } from 'node:stream';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from '../config/config.ts';
import { createLogOutput, type LogOutput } from './log-output.ts';

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
