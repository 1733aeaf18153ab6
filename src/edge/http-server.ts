// Node's HTTP server with our limits, in front of the router.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../config/config.ts';
import * as http from '../http/node-http.ts';
import { hasRequested, noteResponse } from './connection.ts';
import { affordableConnections } from './descriptors.ts';
import { closeInTwoSteps, isLingering } from './lingering-close.ts';
import { createWaitingRoom, isReturning, stopReading, TimedRequest } from './pipelining.ts';
import { createRawRefusals } from './raw-refusal.ts';
import { watchWriting } from './write-timeout.ts';

/** Called with what was thrown before or during routing. */
export type ErrorListener = (error: unknown, response: ServerResponse) => void;

export interface HttpServerOptions {
  readonly config: Config;
  readonly onError: ErrorListener;
  /** Called for each connection that is closed at once, since too many are open. */
  readonly onRefused?: () => void;
  /** Called for each connection that is ended because its client does not read. */
  readonly onStalled?: () => void;
}

export function createHttpServer(
  route: RequestListener,
  { config, onError, onRefused = () => {}, onStalled = () => {} }: HttpServerOptions,
): Server {
  const handle: RequestListener = (request, response) => {
    if (isLingering(request.socket)) return;
    noteResponse(request, response);
    try {
      route(request, response);
    } catch (error) {
      onError(error, response);
    }
  };
  const server = http.createServer(serverOptions(config), handle);
  const refusals = createRawRefusals(config);
  server.maxConnections = affordableConnections(config.maxConnections);
  server.on('drop', onRefused);
  answerHalfClosed(server);
  const open = new Set<Socket>();
  openConnections.set(server, open);
  const watch = watchWriting(open, config.writeTimeout, onStalled);
  server.once('close', watch.stop);
  server.on('connection', (socket) => {
    if (isReturning(socket)) return;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    closeInTwoSteps(socket);
  });
  server.on('upgrade', createWaitingRoom(server));
  server.on('connect', (_request, socket) => refusals.connect(socket as Socket));
  // Bodies are never read, so nobody is told to go on and send one.
  server.on('checkContinue', handle);
  server.on('checkExpectation', (request: TimedRequest, response: ServerResponse) => {
    unmetExpectations.add(request);
    handle(request, response);
  });
  return server;
}

const openConnections = new WeakMap<Server, Set<Socket>>();

/** Ends all connections, also those that are not in Node's own list while their requests wait. */
export function closeAllConnections(server: Server): void {
  for (const socket of openConnections.get(server) ?? []) socket.destroy();
}

/** Ends the connections that have not sent a request; Node counts them as busy. */
export function closeSilentConnections(server: Server): void {
  for (const socket of openConnections.get(server) ?? []) if (!hasRequested(socket)) socket.destroy();
}

/** A client may end its side after its last request. Node would end ours before an answer that is not ready yet. */
function answerHalfClosed(server: Server): void {
  (server as { httpAllowHalfOpen?: boolean }).httpAllowHalfOpen = true;
}

/** Requests that expect something other than 100-continue; a hook refuses them. */
const unmetExpectations = new WeakSet<IncomingMessage>();
export const expectsTheImpossible = (request: IncomingMessage): boolean => unmetExpectations.has(request);

function serverOptions(config: Config) {
  return {
    IncomingMessage: TimedRequest,
    // Node would refuse a missing Host with an empty body; a hook does it in JSON.
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

/** The headers are a part of the request, and Node refuses to start with a longer time for them. 0 is no limit. */
function headersTimeout({ headersTimeout: headers, requestTimeout: request }: Config): number {
  return request > 0 && (headers === 0 || headers > request) ? request : headers;
}
