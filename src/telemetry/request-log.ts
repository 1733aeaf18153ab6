// Counts every response, and logs the slow ones and the faults.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Clients } from '../edge/clients.ts';
import type { Operation } from '../http/operations.ts';
import { createFaultLog } from './fault-log.ts';
import type { RequestCounts } from './request-counts.ts';

export interface RequestLogOptions {
  readonly config: Pick<Config, 'accessLog' | 'slowRequest'>;
  readonly log: Logger;
  readonly clients: Clients;
  readonly counts: RequestCounts;
}

export function createRequestLog({ config, log, clients, counts }: RequestLogOptions) {
  const faults = createFaultLog(log);
  const slow = config.slowRequest === 0 ? Number.POSITIVE_INFINITY : config.slowRequest;

  function about(request: IncomingMessage) {
    return {
      id: clients.requestIdOf(request),
      client: clients.addressOf(request),
      protocol: clients.protocolOf(request),
      method: request.method,
      url: printable(originalUrl(request)),
    };
  }

  return {
    /** Counts a response; logs it when it took long, or when every request is to be logged. */
    observe(request: IncomingMessage, operation: Operation, status: number, bytes: number): void {
      const milliseconds = performance.now() - arrivalOf(request);
      counts.add(operation, status, milliseconds / 1000);
      if (!config.accessLog && milliseconds < slow) return;
      const ms = Math.round(milliseconds * 1000) / 1000;
      const line = { ...about(request), ...operation, status, bytes, ms };
      if (milliseconds >= slow) log.warn(line, 'slow request');
      else log.info(line, 'request');
    },

    /** Logs or counts an error of ours; the id under which the client may ask about it. */
    fault(request: IncomingMessage, error: unknown): string {
      const line = about(request);
      faults.add(error, line);
      return line.id;
    },

    /** Logs an error outside every route, for which no answer can be written, and ends the connection. */
    lostRequest(error: unknown, response: ServerResponse): void {
      faults.add(error, about(response.req));
      response.destroy();
    },

    stop: faults.stop,
  };
}

/** Fastify keeps the address here where the routed one differs. */
const originalUrl = (request: IncomingMessage) =>
  (request as { originalUrl?: string }).originalUrl ?? request.url ?? '';

/** A request that did not come through our server, such as an injected one, has just arrived. */
const arrivalOf = (request: IncomingMessage) =>
  (request as { arrived?: number }).arrived ?? performance.now();

const LONGEST_LOGGED = 1024;

/** Safe for any terminal: Node lets bytes above ASCII through, and some of them are control sequences. */
function printable(url: string): string {
  return url
    .slice(0, LONGEST_LOGGED)
    .replace(/[^\x21-\x7e]/g, (letter) => `\\x${letter.charCodeAt(0).toString(16)}`);
}
