// What happens to a request before it is routed: malformed ones are refused, and ready answers go out at once.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  STATUS_CODES,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Answers } from './answers.ts';
import { type Config, hostKey } from './config.ts';
import { type ErrorCode, FAILURES } from './errors.ts';
import type { RateLimit } from './limits.ts';
import { type Operation, OTHER, PREFLIGHT } from './operations.ts';
import { ALLOW, EXPOSED, type Responder, TimedRequest } from './respond.ts';

/** Longer than any address that can be meant: a name of 255 characters takes 3,060 bytes at most. */
const LONGEST_URL = 8 * 1024;

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
    if (silent.size > 0) silent.delete(request.socket);
    dress(request, response);
    const refusal = turnedAway(request, response);
    if (refusal !== undefined) return respond.failure(request, response, OTHER, refusal);
    const { method } = request;
    if (method === 'GET' || method === 'HEAD') {
      const found = ready(request);
      if (found !== undefined) return respond.answer(request, response, found.operation, found.answer);
    } else if (method === 'OPTIONS' && isPreflight(request)) {
      return respond.options(request, response, PREFLIGHT);
    }
    route(request, response);
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
          maxHeaderSize: config.maxHeaderBytes,
          headersTimeout: config.headersTimeout,
          requestTimeout: config.requestTimeout,
          keepAliveTimeout: config.keepAliveTimeout,
          connectionsCheckingInterval: 1000,
        },
        (request, response) => enterSafely(request, response, route),
      );
      server.maxConnections = config.maxConnections;
      server.on('connection', (socket: Socket) => {
        silent.add(socket);
        socket.once('close', () => silent.delete(socket));
      });
      server.on('checkExpectation', (request, response) => {
        dress(request, response);
        response.setHeader('connection', 'close');
        respond.failure(request, response, OTHER, 'EXPECTATION_FAILED');
      });
      server.on('connect', (_request, socket) => refuseRaw(socket, 'METHOD_NOT_ALLOWED', ALLOW));
      return server;
    },

    /** Ends the connections that have not asked for anything yet; Node counts them as busy. */
    closeSilent(): void {
      for (const socket of silent) socket.destroy();
    },
  };
}

function setHeaders(response: ServerResponse, headers: readonly string[]): void {
  for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i] as string, headers[i + 1] as string);
}

const isProbe = (url: string) => /^\/(healthz|readyz)(\?|$)/.test(url);

const isPreflight = (request: IncomingMessage) => request.headers['access-control-request-method'] !== undefined;

/** What forbids to go on with a request; an absolute target is brought to the form of a path. */
function refusalOf(request: IncomingMessage): ErrorCode | undefined {
  const url = request.url as string;
  if (url.length > LONGEST_URL) return 'URI_TOO_LONG';
  if (request.headers.host === undefined && request.httpVersion === '1.1') return 'HOST_MISSING';
  if (url.startsWith('/')) return undefined;
  if (url === '*' && request.method === 'OPTIONS') return undefined;
  const absolute = /^https?:\/\/([^/?#]+)([^#]*)/i.exec(url);
  if (absolute === null) return 'BAD_REQUEST';
  const [, host, target = ''] = absolute;
  request.headers.host = host;
  request.url = target.startsWith('/') ? target : `/${target}`;
  return undefined;
}

/** Node's own refusals come before there is a request: the answer is written to the socket as it is. */
export function refuseMalformed(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex): void {
  // Nothing can be said to a client that is gone, nor in the middle of another answer.
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  refuseRaw(socket, codeOf(error));
}

function codeOf({ code, rawPacket }: { code?: string; rawPacket?: Buffer }): ErrorCode {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'REQUEST_TIMEOUT';
  if (code !== 'HPE_HEADER_OVERFLOW') return 'BAD_REQUEST';
  // The limit covers the request line as well: when that had not ended, the address was what was too long.
  return rawPacket?.includes('\n') ? 'HEADERS_TOO_LARGE' : 'URI_TOO_LONG';
}

function refuseRaw(socket: Duplex, code: ErrorCode, more: readonly string[] = []): void {
  const { status, body } = FAILURES[code];
  const headers = [
    ...['content-type', 'application/json; charset=utf-8', 'content-length', String(body.length)],
    ...['cache-control', 'no-store', 'access-control-allow-origin', '*', 'x-content-type-options', 'nosniff'],
    ...['connection', 'close', ...more],
  ];
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  socket.end(`${head}\r\n${body}`);
}
