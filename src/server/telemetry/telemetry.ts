// One observer for everything that happens while the server runs: the counters and the log subscribe.

import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { Observation, ResponseEvent } from '../../api/http/observations.ts';
import type { Config } from '../../config/settings.ts';
import { StoreError } from '../../stores/errors.ts';
import { type Clients, createClients } from '../edge/clients.ts';
import { createCounts } from './request-counts.ts';

const CONNECTIONS_REFUSED =
  'connections closed, idle ones first: as many are open as MAX_CONNECTIONS, memory and the file limit allow';
const CONNECTIONS_STALLED =
  'connections ended: the clients did not read their responses within WRITE_TIMEOUT';
const PROXY_PROTOCOL =
  'a proxy speaks the PROXY protocol: turn it off there (send-proxy), and let it send X-Forwarded-For';
/** The one message of what got a 5xx: alerts name it. */
const FAILED = 'request failed';
const OVERLOADED = { type: 'Overloaded', message: 'the request had waited longer than MAX_LOOP_DELAY' };

export type Telemetry = ReturnType<typeof createTelemetry>;

export function createTelemetry(config: Config, log: Logger) {
  const clients = createClients(config);
  const counts = createCounts();
  const slow = config.slowRequest === 0 ? Number.POSITIVE_INFINITY : config.slowRequest;
  const events = createEventLog({ config, log, clients, slow });
  return {
    /** Addresses of clients and ids of requests, as the log names them. */
    clients,
    counts,
    observe(event: Observation): void {
      if (event.type !== 'response') {
        counts.observe(event);
        return events.observe(event);
      }
      // An injected request has just arrived.
      const { arrived } = event.request;
      const ms = arrived === undefined ? 0 : performance.now() - arrived;
      counts.add(event, ms / 1000);
      const isLogged = config.accessLog && event.operation.name !== 'probe';
      if (isLogged || ms >= slow) events.logResponse(event, ms);
    },
    stop: events.stop,
  };
}

interface EventLogOptions {
  readonly config: Pick<Config, 'accessLog' | 'files'>;
  readonly log: Logger;
  readonly clients: Clients;
  /** Milliseconds. */
  readonly slow: number;
}

/** Writes to the log: faults, slow requests, refused connections, and what happens to the data. */
function createEventLog({ config, log, clients, slow }: EventLogOptions) {
  const bundles = createBundledLog(log);

  const about = (request: IncomingMessage) => ({
    id: clients.findRequestId(request),
    traceparent: readTraceparent(request),
    client: clients.findClientAddress(request),
    protocol: clients.findProtocol(request),
    method: request.method,
    url: asciiUrl(originalUrl(request)),
    userAgent: readUserAgent(request),
    referer: readReferer(request),
  });

  function logResponse({ request, operation, status, bytes }: ResponseEvent, ms: number): void {
    const line = { ...about(request), ...operation, status, bytes, ms: Math.round(ms * 1000) / 1000 };
    if (ms < slow) log.info(line, 'request');
    else if (config.accessLog) log.warn(line, 'slow request');
    else bundles.add('warn', 'slow request', { ...operation, status }, line);
  }

  function logFailure(error: unknown, request: IncomingMessage): void {
    const err = summarise(error);
    // A fault of the data is a sentence: where in our code it came from tells nothing.
    const shown = error instanceof Error && !(error instanceof StoreError) ? error : err;
    bundles.add('error', FAILED, { err }, { ...about(request), err: shown });
  }

  return {
    logResponse,
    observe(event: Exclude<Observation, ResponseEvent>): void {
      switch (event.type) {
        case 'request-failed':
          return logFailure(event.error, event.request);
        case 'connection-refused':
          return bundles.add('warn', CONNECTIONS_REFUSED);
        case 'connection-stalled':
          return bundles.add('warn', CONNECTIONS_STALLED);
        case 'proxy-protocol':
          return bundles.add('warn', PROXY_PROTOCOL);
        case 'request-refused':
          if (event.reason === 'overload')
            bundles.add('warn', FAILED, { err: OVERLOADED }, { err: OVERLOADED, ms: event.ms });
          return;
        case 'data-swapped':
          // `serve FILE` says itself what it has imported.
          return config.files === undefined ? log.info(event.message) : undefined;
        case 'data-changed':
          return log.info(event.message);
        case 'data-warning':
          return log.warn(event.message);
        case 'data-fault':
          return log.error(event.message);
      }
    },
    stop: bundles.stop,
  };
}

const summarise = (error: unknown) =>
  error instanceof Error
    ? { type: error.name, message: error.message }
    : { type: typeof error, message: String(error) };

/** W3C Trace Context: version 00 ends after the flags, later ones may go on; neither id is all zeros. */
const TRACEPARENT = /^(?!ff|00.{54})[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?=$|-)/;

/** Undefined, which is not logged, unless it is well-formed. */
const readTraceparent = ({ headers }: IncomingMessage) =>
  TRACEPARENT.exec(String(headers.traceparent ?? ''))?.[0];

const originalUrl = (request: IncomingMessage) => request.originalUrl ?? request.url ?? '';

/** Undefined, which is not logged, if the client sent none. */
const readUserAgent = ({ headers }: IncomingMessage) => {
  const name = headers['user-agent'];
  return name === undefined ? undefined : asciiText(name.slice(0, LONGEST_USER_AGENT));
};

/** Of a web page, the origin: the rest may be private. */
const readReferer = ({ headers }: IncomingMessage) => {
  const { origin } = URL.parse(headers.referer ?? '') ?? {};
  return origin === 'null' ? undefined : origin?.slice(0, LONGEST_REFERER);
};

const LONGEST_USER_AGENT = 256;
const LONGEST_REFERER = 256;
const LONGEST_LOGGED = 1024;

/** Safe for any terminal: Node lets bytes above ASCII through, and some of them are control sequences. */
const asciiUrl = (url: string): string => escaped(url.slice(0, LONGEST_LOGGED), /[^\x21-\x7e]/g);

const asciiText = (text: string): string => escaped(text, /[^\x20-\x7e]/g);

const escaped = (text: string, odd: RegExp) =>
  text.replace(odd, (letter) => `\\x${letter.charCodeAt(0).toString(16)}`);

// Logs what an outage brings thousands of a second: the first of each cause with its request, and once a second how many
// followed. The counts add up.

const PERIOD_MS = 1000;
/** Messages may differ from request to request: causes beyond these share one line. */
const MOST_CAUSES = 20;
const OTHERS = { err: { type: 'Error', message: 'other errors' } };

interface Bundle {
  readonly level: 'warn' | 'error';
  readonly message: string;
  /** What all that it counts have in common. */
  readonly cause: object;
  count: number;
}

function createBundledLog(log: Logger) {
  const bundles = new Map<string, Bundle>();
  let timer: NodeJS.Timeout | undefined;

  /** Logs what was counted; a cause that did not come again is forgotten. */
  function flush(): void {
    for (const [key, bundle] of bundles) {
      const { level, message, cause, count } = bundle;
      if (count === 0) bundles.delete(key);
      else log[level]({ ...cause, count }, message);
      bundle.count = 0;
    }
    timer = bundles.size > 0 ? setTimeout(flush, PERIOD_MS).unref() : undefined;
  }

  return {
    /** `line`: what is logged of the first of a cause. */
    add(level: Bundle['level'], message: string, cause: object = {}, line = cause): void {
      timer ??= setTimeout(flush, PERIOD_MS).unref();
      let key = JSON.stringify([level, message, cause]);
      const isFirst = !bundles.has(key) && bundles.size < MOST_CAUSES;
      if (isFirst) log[level]({ ...line, count: 1 }, message);
      else if (!bundles.has(key)) key = `other ${message}`;
      const bundle = bundles.get(key) ?? { level, message, cause: isFirst ? cause : OTHERS, count: 0 };
      if (!isFirst) bundle.count++;
      bundles.set(key, bundle);
    },

    stop(): void {
      flush();
      clearTimeout(timer);
    },
  };
}
