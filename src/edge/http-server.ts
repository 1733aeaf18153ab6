// Node's HTTP server with our limits, in front of the router.
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../config/config.ts';
import { type ParserError, requestFault } from '../http/malformed.ts';
import * as http from '../http/node-http.ts';
import { Connection, findConnection, TimedRequest } from './connection.ts';
import { affordableConnections } from './connection-limit.ts';
import { createRefusals, type RefusalOptions } from './refusals.ts';

interface HttpServerOptions extends RefusalOptions {
  /** While it does, each connection ends with its next answer. */
  readonly isDraining?: () => boolean;
}

export function createHttpServer(route: RequestListener, options: HttpServerOptions): Server {
  const { config, isDraining = () => false, observe } = options;
  const { refuse, refuseBytes } = createRefusals(options);

  const handle = createTurns((request, response) => {
    const { state, socket } = findConnection(request.socket);
    // Nobody can receive an answer.
    if (state === 'lingering' || socket.destroyed) return;
    try {
      route(request, response);
    } catch (error) {
      observe({ type: 'request-failed', request, error });
      response.destroy();
    }
  });
  const receive: RequestListener = (request, response) => {
    findConnection(request.socket).owe(response);
    if (isDraining()) response.shouldKeepAlive = false;
    const fault = requestFault(request);
    if (fault === undefined) handle(request, response);
    else refuse(request, response, fault);
  };

  const server = http.createServer(serverOptions(config), receive);
  // A client may end its side after its last request. Node would end ours before an answer that is not ready yet.
  Object.assign(server, { httpAllowHalfOpen: true });
  // Bodies are never read, so nobody is told to go on and send one.
  server.on('checkContinue', receive).on('checkExpectation', receive);
  server.on('clientError', (error, socket) => refuseBytes(error as ParserError, socket as Socket));
  for (const event of ['upgrade', 'connect'])
    server.on(event, (request, socket, rest) => findConnection(socket).takeOver(request, rest));
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
function createTurns(handle: RequestListener): RequestListener {
  const waiting = new Set<Parameters<RequestListener>>();
  /** When the turn is over; 0 before its first request. */
  let ends = 0;

  function startNext(): void {
    ends = performance.now() + TURN_MS;
    for (const exchange of waiting) {
      waiting.delete(exchange);
      handle(...exchange);
      if (performance.now() > ends) break;
    }
    if (waiting.size > 0) setImmediate(startNext);
    else ends = 0;
  }

  return (request, response) => {
    const now = performance.now();
    if (ends === 0) {
      ends = now + TURN_MS;
      setImmediate(startNext);
    }
    if (waiting.size === 0 && now < ends) handle(request, response);
    else waiting.add([request, response]);
  };
}

const openConnections = new WeakMap<Server, ReadonlySet<Connection>>();
const STALL_POLL_MS = 1000;

/** Bounds how many connections are open, and ends those whose client does not read. */
function keepConnections(server: Server, { config, observe }: HttpServerOptions): void {
  const most = affordableConnections(config);
  const open = new Set<Connection>();
  const idle = new Set<Connection>();
  openConnections.set(server, open);

  function forget(connection: Connection): void {
    open.delete(connection);
    idle.delete(connection);
  }

  server.on('connection', (socket) => {
    // One that is given back.
    if (findConnection(socket) !== undefined) return;
    if (open.size >= most) {
      observe({ type: 'connection-refused' });
      const [longestIdle] = idle;
      if (longestIdle === undefined) return void socket.destroy();
      forget(longestIdle);
      longestIdle.socket.destroy();
    }
    const connection = new Connection(socket, idle);
    open.add(connection);
    socket.once('close', () => forget(connection));
  });

  function endStalled(): void {
    const now = performance.now();
    for (const connection of open) {
      if (!connection.isStalled(now, config.writeTimeout)) continue;
      observe({ type: 'connection-stalled' });
      // With a reset, so that the system drops what is left as well.
      connection.socket.resetAndDestroy();
    }
  }

  if (config.writeTimeout === 0) return;
  const timer = setInterval(endStalled, Math.min(STALL_POLL_MS, config.writeTimeout / 4)).unref();
  server.once('close', () => clearInterval(timer));
}

/** Ends all connections, also those that are not in Node's own list since their requests wait. */
export function closeAllConnections(server: Server): void {
  for (const { socket } of openConnections.get(server) ?? []) socket.destroy();
}

/** Ends the connections that have not sent a request; Node counts them as busy. */
export function closeSilentConnections(server: Server): void {
  for (const { state, socket } of openConnections.get(server) ?? []) if (state === 'silent') socket.destroy();
}

function serverOptions(config: Config) {
  return {
    IncomingMessage: TimedRequest,
    // Node would refuse a missing Host with an empty body.
    requireHostHeader: false,
    shouldUpgradeCallback: stopReading,
    // Hardly any request has a body, and none is read: the rest need no stream for one.
    optimizeEmptyRequests: true,
    maxHeaderSize: config.maxHeaderBytes,
    headersTimeout: headersTimeout(config),
    requestTimeout: config.requestTimeout,
    keepAliveTimeout: config.keepAliveTimeout,
    connectionsCheckingInterval: 1000,
  };
}

/**
 * Takes the connection of a request that asks for an upgrade, or poses as one: Node would read nothing after it, although
 * RFC 9110 (7.8) lets servers ignore an upgrade.
 */
function stopReading({ socket }: IncomingMessage): boolean {
  socket.pause();
  return true;
}

/** The headers are a part of the request, and Node refuses to start with a longer time for them. 0 is no limit. */
function headersTimeout({ headersTimeout: headers, requestTimeout: request }: Config): number {
  return request > 0 && (headers === 0 || headers > request) ? request : headers;
}
