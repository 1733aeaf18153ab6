// What happens to a request before it is routed: malformed ones are refused, and ready answers go out at once.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Answers } from './answers.ts';
import { type Config, hostKey } from './config.ts';
import { type ErrorCode, FAILURES } from './errors.ts';
import { type Operation, OTHER, PREFLIGHT } from './operations.ts';
import { type Responder, TimedRequest } from './respond.ts';

/** Longer than any address that can be meant: a name of 255 characters takes 3,060 bytes at most. */
const LONGEST_URL = 8 * 1024;

export interface GateOptions {
  readonly config: Config;
  readonly answers: Answers<Operation>;
  readonly respond: Responder;
}

/** The HTTP server, with its limits, in front of the router. */
export function createGate({ config, answers, respond }: GateOptions, route: RequestListener): Server {
  const hosted = [config.baseUrlA, config.baseUrlB, config.baseUrlC].some((base) => base?.host !== undefined);

  function ready(request: IncomingMessage) {
    const url = request.url as string;
    const found = answers.ready(url);
    return found === undefined && hosted ? answers.ready(hostKey(request.headers.host ?? '') + url) : found;
  }

  function enter(request: IncomingMessage, response: ServerResponse): void {
    const refusal = refusalOf(request);
    if (refusal !== undefined) return respond.failure(request, response, OTHER, refusal, CLOSE);
    const { method } = request;
    if (method === 'GET' || method === 'HEAD') {
      const found = ready(request);
      if (found !== undefined) return respond.answer(request, response, found.operation, found.answer);
    } else if (method === 'OPTIONS' && isPreflight(request)) {
      return respond.options(request, response, PREFLIGHT);
    }
    route(request, response);
  }

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
    enter,
  );
  server.maxConnections = config.maxConnections;
  server.on('checkExpectation', (request, response) =>
    respond.failure(request, response, OTHER, 'EXPECTATION_FAILED', CLOSE),
  );
  server.on('connect', (_request, socket) => refuseRaw(socket, 'METHOD_NOT_ALLOWED', ['allow: GET, HEAD, OPTIONS']));
  return server;
}

const CLOSE = ['connection', 'close'];

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

function refuseRaw(socket: Duplex, code: ErrorCode, more: string[] = []): void {
  const { status, body } = FAILURES[code];
  const head = [
    `HTTP/1.1 ${status} ${JSON.parse(body.toString()).error}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${body.length}`,
    'cache-control: no-store',
    'access-control-allow-origin: *',
    'x-content-type-options: nosniff',
    'connection: close',
    ...more,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
