// What is told of each request, to the metrics and to the log, from the one place where all of them are seen.
import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Clients } from '../edge/client.ts';
import type { TimedRequest } from '../http/respond.ts';
import type { Operation } from './operations.ts';
import type { RequestCounts } from './request-counts.ts';

export interface ChronicleOptions {
  readonly config: Pick<Config, 'accessLog' | 'slowRequest'>;
  readonly log: Logger;
  readonly clients: Clients;
  readonly requests: RequestCounts;
}

export function createChronicle({ config, log, clients, requests }: ChronicleOptions) {
  const slow = config.slowRequest === 0 ? Number.POSITIVE_INFINITY : config.slowRequest;

  function about(request: IncomingMessage) {
    return {
      id: clients.requestIdOf(request),
      client: clients.addressOf(request),
      protocol: clients.protocolOf(request),
      method: (request as TimedRequest).otherMethod ?? request.method,
      url: printable(request.url ?? ''),
    };
  }

  return {
    /** Counts a response; logs it when it took long, or when every request is to be logged. */
    observe(request: IncomingMessage, operation: Operation, status: number, bytes: number): void {
      const milliseconds = performance.now() - (request as TimedRequest).arrived;
      requests.add(operation, status, milliseconds / 1000);
      if (!config.accessLog && milliseconds < slow) return;
      const line = {
        ...about(request),
        ...operation,
        status,
        bytes,
        ms: Math.round(milliseconds * 1000) / 1000,
      };
      if (milliseconds >= slow) log.warn(line, 'slow request');
      else log.info(line, 'request');
    },

    /** Logs what went wrong inside; gives the id under which the client may ask about it. */
    fault(request: IncomingMessage, error: unknown): string {
      const line = about(request);
      log.error({ ...line, err: error }, 'request failed');
      return line.id;
    },
  };
}

const LONGEST_LOGGED = 1024;

/** An address as it can stand in any terminal: Node lets bytes above ASCII through, some of which steer one. */
function printable(url: string): string {
  return url
    .slice(0, LONGEST_LOGGED)
    .replace(/[^\x21-\x7e]/g, (letter) => `\\x${letter.charCodeAt(0).toString(16)}`);
}
