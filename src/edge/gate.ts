// What happens to a request before it is routed: malformed ones are refused, and ready answers go out at once.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../config/config.ts';
import { hostKey } from '../config/setting-values.ts';
import type { Answers } from '../http/answer-cache.ts';
import type { ErrorCode } from '../http/errors.ts';
import { createServer } from '../http/node-http.ts';
import { ALLOW, EXPOSED, type Responder, TimedRequest } from '../http/respond.ts';
import { turn } from '../http/turn.ts';
import { asRead } from '../server/router.ts';
import { type Operation, OTHER, PREFLIGHT } from '../telemetry/operations.ts';
import { afterAnswers, isLingering, letLinger, noteResponse } from './connection.ts';
import type { RateLimit } from './limits.ts';
import { createRefusals, LONGEST_URL } from './malformed.ts';

export interface GateOptions {
  readonly config: Config;
  readonly answers: Answers<Operation>;
  readonly respond: Responder;
  readonly overloaded: () => boolean;
  readonly rateLimit: RateLimit | undefined;
  /** Whether connections are to be given up after their next response. */
  readonly draining: () => boolean;
}

export type Gate = ReturnType<typeof createGate>;

export function createGate({ config, answers, respond, overloaded, rateLimit, draining }: GateOptions) {
  const { corsOrigin } = config;
  const hosted = [config.baseUrlA, config.baseUrlB, config.baseUrlC].some((base) => base?.host !== undefined);
  const silent = new Set<Socket>();

  /** The headers that depend on who asks, or on when. */
  function dress(request: IncomingMessage, response: ServerResponse): void {
    if (draining()) response.setHeader('connection', 'close');
    if (corsOrigin === '*' || corsOrigin.length === 0) return;
    const { origin } = request.headers;
    response.setHeader('vary', 'Origin');
    if (origin === undefined || !corsOrigin.includes(origin)) return;
    response.setHeader('access-control-allow-origin', origin);
    setHeaders(response, EXPOSED);
  }

  /** Why nothing is looked up for this request. Probes are let through: they ask how things are. */
  function turnedAway(request: IncomingMessage, response: ServerResponse): ErrorCode | undefined {
    const malformed = refusalOf(request);
    if (malformed !== undefined) response.setHeader('connection', 'close');
    if (malformed !== undefined || isProbe(request.url as string)) return malformed;
    if (overloaded()) return 'OVERLOADED';
    const allowance = rateLimit?.(request);
    if (allowance !== undefined) setHeaders(response, allowance.headers);
    return allowance?.refused ? 'RATE_LIMITED' : undefined;
  }

  function ready(request: IncomingMessage) {
    const url = request.url as string;
    const found = answers.ready(url);
    return found === undefined && hosted ? answers.ready(hostKey(request.headers.host ?? '') + url) : found;
  }

  function enter(request: IncomingMessage, response: ServerResponse, route: RequestListener): void {
    dress(request, response);
    const refusal = turnedAway(request, response);
    if (refusal !== undefined) return respond.failure(request, response, OTHER, refusal);
    const { method } = request;
    if (method === 'GET' || method === 'HEAD') {
      const found = ready(request);
      if (found !== undefined) return respond.answer(request, response, found.operation, found.answer);
    } else if (method === 'OPTIONS' && (isPreflight(request) || request.url === '*')) {
      return respond.options(request, response, PREFLIGHT);
    }
    route(asRead(request), response);
  }

  /** What is thrown before a route is found must not take the process with it. */
  function enterSafely(request: IncomingMessage, response: ServerResponse, route: RequestListener): void {
    try {
      enter(request, response, route);
    } catch (error) {
      respond.fault(request, response, OTHER, error);
    }
  }

  return {
    /** The HTTP server, with its limits, in front of the router. */
    serverFor(route: RequestListener): Server {
      const server = createServer(
        {
          IncomingMessage: TimedRequest,
          // Node would refuse a missing Host with an empty body.
          requireHostHeader: false,
          // Hardly any request has a body, and none is read: the rest need no stream for one.
          optimizeEmptyRequests: true,
          maxHeaderSize: config.maxHeaderBytes,
          // The headers are a part of the request; Node refuses to start with a longer time for them.
          headersTimeout: headersTimeout(config),
          requestTimeout: config.requestTimeout,
          keepAliveTimeout: config.keepAliveTimeout,
          connectionsCheckingInterval: 1000,
        },
        (request, response) => {
          if (isLingering(request.socket)) return;
          silent.delete(request.socket);
          noteResponse(request, response);
          turn.route(() => enterSafely(request, response, route));
        },
      );
      server.maxConnections = config.maxConnections;
      server.on('connection', (socket: Socket) => {
        silent.add(socket);
        letLinger(socket);
        socket.once('close', () => silent.delete(socket));
      });
      server.on('checkExpectation', (request, response) => {
        noteResponse(request, response);
        dress(request, response);
        response.setHeader('connection', 'close');
        respond.failure(request, response, OTHER, 'EXPECTATION_FAILED');
      });
      server.on('connect', (_request, stream) => {
        const socket = stream as Socket;
        // Node has left this socket to us, with its errors and with what comes on it.
        socket.on('error', () => socket.destroy()).resume();
        afterAnswers(socket, () => createRefusals(config).refuse(socket, 'METHOD_NOT_ALLOWED', ALLOW));
      });
      return server;
    },

    /** Ends the connections that have not asked for anything yet; Node counts them as busy. */
    closeSilent(): void {
      for (const socket of silent) socket.destroy();
    },
  };
}

/** 0 means that there is no limit. */
function headersTimeout({ headersTimeout: headers, requestTimeout: request }: Config): number {
  return request > 0 && (headers === 0 || headers > request) ? request : headers;
}

function setHeaders(response: ServerResponse, headers: readonly string[]): void {
  for (let i = 0; i < headers.length; i += 2)
    response.setHeader(headers[i] as string, headers[i + 1] as string);
}

const isProbe = (url: string) => /^\/(healthz|readyz)(\?|$)/.test(url);

const isPreflight = (request: IncomingMessage) =>
  request.headers['access-control-request-method'] !== undefined;

/** What forbids to go on with a request; an absolute target is brought to the form of a path. */
function refusalOf(request: IncomingMessage): ErrorCode | undefined {
  const url = request.url as string;
  if (url.length > LONGEST_URL) return 'URI_TOO_LONG';
  const hosts = countHosts(request.rawHeaders);
  if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1')) return 'HOST_MISSING';
  if (url.startsWith('/')) return undefined;
  if (url === '*' && request.method === 'OPTIONS') return undefined;
  const absolute = /^https?:\/\/([^/?#]+)([^#]*)/i.exec(url);
  if (absolute === null) return 'BAD_REQUEST';
  const [, host, target = ''] = absolute;
  request.headers.host = host;
  request.url = target.startsWith('/') ? target : `/${target}`;
  return undefined;
}

/** Node's `headers` keep the first Host only; RFC 9112 (3.2) wants a request with several refused. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === 'host') count++;
  return count;
}
