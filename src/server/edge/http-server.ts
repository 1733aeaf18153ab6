// Node's HTTP server with our limits, in front of the router.

import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { constrainedMemory } from 'node:process';
import type { FastifyServerOptions } from 'fastify';
import { type ErrorCode, FAILURES } from '../../api/http/errors.ts';
import { type Headers, JSON_TYPE, jsonHeaders, METHODS } from '../../api/http/headers.ts';
import * as http from '../../api/http/node-http.ts';
import { type Observer, OTHER } from '../../api/http/observations.ts';
import type { Config } from '../../config/settings.ts';
import { ClientConnection, ClientRequest, findConnection, type SharedState } from './connection.ts';
import { originHeaders, type RateLimit } from './hooks.ts';
import { isHead, type ParserError, parserFault, pathToRoute, requestFault } from './malformed.ts';
import { allowHalfOpen, createEmptyRequest, onStop } from './undocumented.ts';

interface HttpServerOptions {
  readonly config: Config;
  readonly rateLimit?: RateLimit | undefined;
  readonly observe: Observer;
  /** While the server stops, each connection ends with its next response. */
  readonly state: { readonly isDraining: boolean };
}

/** What Fastify is made with to stand behind this server. */
export const behindHttpServer = (options: HttpServerOptions): FastifyServerOptions => ({
  serverFactory: (route) => createHttpServer(route, options),
  // Done here.
  clientErrorHandler() {},
  rewriteUrl: pathToRoute,
  // While stopping, requests that still arrive are answered like the rest.
  return503OnClosing: false,
});

export function createHttpServer(route: RequestListener, options: HttpServerOptions): Server {
  const { config, state, observe } = options;
  const { refuse, refuseBytes } = createRefusals(options);

  const handle = queueLongTurns(function handle(request, response) {
    // The client is gone.
    if (request.socket.destroyed) return;
    try {
      route(request, response);
    } catch (error) {
      observe({ type: 'request-failed', request, error });
      response.destroy();
    }
  });

  function receive(request: IncomingMessage, response: ServerResponse): void {
    const connection = findConnection(request.socket);
    connection.noteRequest(request, response);
    // After a wish to upgrade Node reads nothing; RFC 9110 (7.8) lets servers ignore the wish. No large body is read: it comes
    // as fast as a client can send it, and Node makes a Buffer for each read and each chunk. A small one is read and dropped,
    // since proxies may lose a response when the connection ends while they still send: Caddy lost 20 of 385 over HTTP/2.
    const { upgrade, expect, 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
    const isLast =
      upgrade !== undefined ||
      expect !== undefined ||
      coding !== undefined ||
      Number(length) > MOST_BODY_BYTES;
    if (isLast) connection.end();
    if (isLast || state.isDraining) response.setHeader('connection', 'close');
    const fault = requestFault(request);
    if (fault !== undefined) return refuse(request, response, fault);
    handle(request, response);
  }

  const server = allowHalfOpen(http.createServer(serverOptions(config), receive));
  server.maxHeadersCount = MAX_HEADERS;
  // No client is asked to go on and send a body.
  server.on('checkContinue', receive).on('checkExpectation', receive);
  // The errors are those of Node's parser, and the sockets those of the server. TypeScript knows less of both.
  server.on('clientError', (error, socket) => refuseBytes(error as ParserError, socket as Socket));
  onStop(
    server,
    (socket) => findConnection(socket).owed[0],
    (socket) => findConnection(socket).endEarly(),
  );
  keepConnections(server, options);
  return server;
}

const TURN_MS = 20;

/**
 * Bounds how long requests are handled in one turn of the event loop, since timers, the admin port and one new connection
 * come once in it: when 2,000 connections each sent eight requests at once, a turn took 2.4 s. What is left waits here for
 * the next turns, and its age tells of overload. Up to 400 or so busy connections nothing waits, and at 32 it costs nothing
 * that can be measured (npm run bench).
 */
function queueLongTurns(handle: RequestListener): RequestListener {
  const waiting = new Set<Parameters<RequestListener>>();
  /** When the turn is over; 0 before its first request. */
  let ends = 0;

  // One in each turn: what a response leaves behind is freed between turns. 20 ms of pages held 40 MB.
  function startNext(): void {
    for (const exchange of waiting) {
      waiting.delete(exchange);
      // A client that is gone takes no turn. 50 clients that reset their connections left enough to kill the server.
      if (exchange[0].socket.destroyed) continue;
      setImmediate(startNext);
      return handle(...exchange);
    }
    ends = 0;
  }

  return function handleInTurn(request, response): void {
    const now = performance.now();
    if (ends === 0) {
      ends = now + TURN_MS;
      setImmediate(startNext);
    }
    if (waiting.size === 0 && now < ends) handle(request, response);
    else waiting.add([request, response]);
  };
}

const WAITING_POLL_MS = 500;
const openConnections = new WeakMap<Server, ReadonlySet<ClientConnection>>();

/** Bounds how many connections are open, and ends those on which a client takes no byte of a response. */
function keepConnections(server: Server, { config, observe }: HttpServerOptions): void {
  const most = affordableConnections(config);
  const open = new Set<ClientConnection>();
  const shared: SharedState = { idle: new Set(), waiting: 0, dropped: 0 };
  openConnections.set(server, open);

  function forget(connection: ClientConnection): void {
    open.delete(connection);
    shared.idle.delete(connection);
  }

  server.on('connection', (socket) => {
    if (isGone(socket)) return void socket.destroy();
    if (open.size >= most) {
      observe({ type: 'connection-refused' });
      const [longestIdle] = shared.idle;
      if (longestIdle === undefined) return void socket.destroy();
      forget(longestIdle);
      longestIdle.socket.destroy();
    }
    const connection = new ClientConnection(socket, shared);
    open.add(connection);
    socket.once('close', () => {
      forget(connection);
      connection.noteClosed();
    });
  });

  // Nothing was read or written for the keep-alive time, or for WRITE_TIMEOUT while something was to be written. A client
  // cannot put it off for long by sending: after 4 requests, or an unfinished one, it is not read any more.
  server.on('timeout', (socket: Socket) => {
    const { owed, hasAsked } = findConnection(socket);
    if (owed.length === 0 && hasAsked && config.keepAliveTimeout > 0) socket.destroy();
    if (socket.writableLength === 0) return;
    observe({ type: 'connection-stalled' });
    // With a reset, so that the system drops what is left as well.
    socket.resetAndDestroy();
  });

  // Set only for those that wait: for each request, it would cost more than a microsecond.
  function setTimeouts(): void {
    for (const { socket } of open)
      if (socket.writableLength > 0 && socket.timeout !== config.writeTimeout)
        socket.setTimeout(config.writeTimeout);
  }
  if (config.writeTimeout === 0) return;
  const timer = setInterval(setTimeouts, WAITING_POLL_MS).unref();
  server.once('close', () => clearInterval(timer));
}

/**
 * Whether the client reset the connection before it was accepted. In each turn of the event loop one is accepted, and what a
 * dead one has sent would be read and answered first. 50 clients that send four requests and reset filled the system's queue
 * with 4,000 dead connections, and new clients waited 14 s behind them. On a unix socket neither side has an address.
 */
const isGone = ({ remoteAddress, localAddress }: Socket) =>
  remoteAddress === undefined && localAddress !== undefined;

export const countConnections = (server: Server) => openConnections.get(server)?.size ?? 0;

/** Ends the connections, also those that are not in Node's own list since they end early. */
export function closeAllConnections(server: Server): void {
  for (const { socket } of openConnections.get(server) ?? []) socket.destroy();
}

/** Ends the connections that owe no response, and of whose next request nothing has come. */
export function closeRestingConnections(server: Server): void {
  for (const { isResting, socket } of openConnections.get(server) ?? []) if (isResting) socket.destroy();
}

function serverOptions(config: Config) {
  return {
    IncomingMessage: ClientRequest,
    // Node would refuse a missing Host with an empty body.
    requireHostHeader: false,
    // Requests without a body need no stream for it.
    optimizeEmptyRequests: true,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The headers are a part of the request, and Node refuses to start with a longer time for them. 0 is no limit.
    headersTimeout: Math.min(HEADERS_TIMEOUT, config.requestTimeout || HEADERS_TIMEOUT),
    requestTimeout: config.requestTimeout,
    keepAliveTimeout: config.keepAliveTimeout,
    connectionsCheckingInterval: 1000,
  };
}

/** A body that declares at most as many bytes is read and dropped. */
const MOST_BODY_BYTES = 16 * 1024;

/** Of the request line and the headers: a name of 255 characters takes 3 KB, cookies of other parts of a site 4 KB. */
const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TIMEOUT = 10_000;
/**
 * Browsers send 20, and proxies add 10. Node keeps each name and each value as a string until the headers end: 700 short ones
 * took 45 KB of each connection, and 1,300 such connections killed the server.
 */
const MAX_HEADERS = 100;

// How many connections the limits of open files and of memory leave room for. Beyond the first, the system would hand out
// no descriptor, and libuv would close new connections without a word; beyond the second, it ends the process.

/** For the database, its replacement, the log and what else is opened while connections are. */
const RESERVED_FILES = 64;
/**
 * What a worker takes without connections, and what one takes that asks for four pages, with the part of the system. With
 * 24 KB, and so 1,365 connections at 128 MB, the system ended one server in six under such an attack.
 */
const WORKER_BYTES = 96 * 1024 * 1024;
const CONNECTION_BYTES = 40 * 1024;
/** A proxy needs some, however little memory there is. */
const FEWEST = 256;

/**
 * The lowest of three numbers. The first is the setting. The second is the limit of open files without the reserved ones, or
 * half of it if that is more. The third is one connection for each 40 KB of a worker's share of the memory above 96 MB, and
 * 256 or more. At 128 MB that is 819.
 */
export function affordableConnections(
  { maxConnections, workers }: Pick<Config, 'maxConnections' | 'workers'>,
  { files, memory } = { files: openFilesLimit(), memory: constrainedMemory() || Number.POSITIVE_INFINITY },
): number {
  const byFiles = Math.max(files - RESERVED_FILES, Math.floor(files / 2));
  const byMemory = Math.max(Math.floor((memory / workers - WORKER_BYTES) / CONNECTION_BYTES), FEWEST);
  return Math.min(maxConnections, byFiles, byMemory);
}

/** Node has raised the soft limit to the hard one at its start. Infinity where none is known. */
function openFilesLimit(): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return Number(soft ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

// Errors that are written past the router: to requests that must not reach it, and to bytes that are no request.

function createRefusals({ config, rateLimit, observe }: HttpServerOptions) {
  const common = {
    'content-type': JSON_TYPE,
    'cache-control': 'no-store',
    ...jsonHeaders(config.corsOrigin),
  };

  /** What a request gets that must not be routed, or 429 if its client is over the rate. */
  function describe(request: IncomingMessage, fault: ErrorCode) {
    const allowance = rateLimit?.(request);
    const { status, body } = FAILURES[allowance?.refused ? 'RATE_LIMITED' : fault];
    const headers: Headers = {
      ...common,
      ...originHeaders(config, request),
      ...allowance?.headers,
      'content-length': String(body.length),
      ...(status === 405 && { allow: METHODS }),
      // Elsewhere it is not known where the next request begins, or whether the client meant this server.
      ...(fault !== 'BAD_ESCAPE' && { connection: 'close' }),
    };
    return { status, headers, body };
  }

  function refuse(request: IncomingMessage, response: ServerResponse, fault: ErrorCode): void {
    const { status, headers, body } = describe(request, fault);
    if (headers.connection === 'close') findConnection(request.socket).end();
    response.writeHead(status, headers).end(body);
    const bytes = request.method === 'HEAD' ? 0 : body.length;
    observe({ type: 'response', request, operation: OTHER, status, bytes });
  }

  /** Answers what Node's parser rejects, when the responses before it are written. */
  function refuseBytes(error: ParserError, socket: Socket): void {
    const connection = findConnection(socket);
    // The client is gone.
    if (error.code === 'ECONNRESET' || socket.destroyed) return void socket.destroy();
    // A request that has its response gets no other one for its body.
    if (connection.isWithinRequest) return connection.end();
    connection.end(() => {
      // How far the parser came with the request is not known.
      const request = createEmptyRequest(socket);
      const fault = parserFault(error);
      if (fault === 'PROXY_PROTOCOL') observe({ type: 'proxy-protocol' });
      const { status, headers, body } = describe(request, fault);
      const lines = Object.entries({ date: new Date().toUTCString(), ...headers }).map(
        ([name, value]) => `${name}: ${value}\r\n`,
      );
      socket.write(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}\r\n`);
      const sent = isHead(error) ? '' : body;
      socket.write(sent);
      observe({ type: 'response', request, operation: OTHER, status, bytes: sent.length });
    });
  }

  return { refuse, refuseBytes };
}
