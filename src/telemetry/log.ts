// Logs one JSON line per event to standard output; readable lines on a developer's terminal.
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from '../config/config.ts';

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

/** pino-pretty, if that development dependency is installed; undefined in the container. */
export async function prettyStream(): Promise<DestinationStream | undefined> {
  try {
    const { default: pretty } = await import('pino-pretty');
    return pretty({ translateTime: 'HH:MM:ss', sync: true });
  } catch {
    return undefined;
  }
}
