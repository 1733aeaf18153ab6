// Node's HTTP server with our limits, in front of the router: ready answers go out here, before any routing.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../config/config.ts';
import * as http from '../http/node-http.ts';
import { noteRequest, noteResponse } from './connection.ts';
import { closeInTwoSteps, isLingering } from './lingering-close.ts';
import { createRawRefusals } from './raw-refusal.ts';
import { createTurnQueue, type ErrorListener } from './turn-queue.ts';

/** A request that knows when its headers arrived. */
export class TimedRequest extends http.IncomingMessage {
  readonly arrived = performance.now();

  constructor(socket: Socket) {
    super(socket);
    noteRequest(socket, this);
  }
}

export interface HttpServerOptions {
  readonly config: Config;
  /** Answers a request at once, without routing; whether it did. */
  readonly answerAtOnce: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Called with what was thrown before or during routing. */
  readonly onError: ErrorListener;
}

export function createHttpServer(
  route: RequestListener,
  { config, answerAtOnce, onError }: HttpServerOptions,
): Server {
  const silent = new Set<Socket>();
  const enqueue = createTurnQueue((request, response) => {
    if (!answerAtOnce(request, response)) route(request, response);
  }, onError);
  const handle: RequestListener = (request, response) => {
    if (isLingering(request.socket)) return;
    silent.delete(request.socket);
    noteResponse(request, response);
    enqueue(request, response);
  };
  const server = http.createServer(serverOptions(config), handle);
  const refusals = createRawRefusals(config);
  server.maxConnections = config.maxConnections;
  silentSockets.set(server, silent);
  server.on('connection', (socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
    closeInTwoSteps(socket);
  });
  server.on('connect', (_request, socket) => refusals.connect(socket as Socket));
  // Bodies are never read, so nobody is told to go on and send one.
  server.on('checkContinue', handle);
  server.on('checkExpectation', (request: TimedRequest, response: ServerResponse) => {
    unmetExpectations.add(request);
    handle(request, response);
  });
  return server;
}

/** The connections of a server that have not sent a request yet. */
const silentSockets = new WeakMap<Server, Set<Socket>>();

/** Ends the connections that have not sent a request; Node counts them as busy. */
export function closeSilentConnections(server: Server): void {
  for (const socket of silentSockets.get(server) ?? []) socket.destroy();
}

/** Requests that expect something other than 100-continue; a hook refuses them. */
const unmetExpectations = new WeakSet<IncomingMessage>();
export const expectsTheImpossible = (request: IncomingMessage): boolean => unmetExpectations.has(request);

function serverOptions(config: Config) {
  return {
    IncomingMessage: TimedRequest,
    // Node would refuse a missing Host with an empty body; a hook does it in JSON.
    requireHostHeader: false,
    // An Upgrade is ignored, as RFC 9110 (7.8) allows; Node would stop reading requests.
    shouldUpgradeCallback: () => false,
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
