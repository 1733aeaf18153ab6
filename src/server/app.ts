// The table of contents: what Vitrine answers, line by line.
import type { Server } from 'node:http';
import swagger from '@fastify/swagger';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyReply, type FastifyRequest, type FastifyServerOptions } from 'fastify';
import { type Config, listMounts } from '../config/config.ts';
import { addOriginHeaders, answerPreflights, sendOptions } from '../edge/cors.ts';
import { createHttpServer } from '../edge/http-server.ts';
import { createRateLimit, limits } from '../edge/limits.ts';
import { allowMethods, noteAddresses } from '../edge/methods.ts';
import { createAnswerWriter, jsonHeaders } from '../http/answer.ts';
import { RequestError, sendFailure } from '../http/errors.ts';
import { COMPILERS, parseQuery } from '../http/input.ts';
import { LONGEST_URL, pathToRoute } from '../http/malformed.ts';
import { type Operation, OTHER, PREFLIGHT } from '../http/observations.ts';
import { documentFor, openapiOptions } from '../openapi/document.ts';
import { docs } from '../routes/docs.ts';
import { createExampleUsers } from '../routes/example-users.ts';
import { media } from '../routes/media.ts';
import { pages } from '../routes/pages.ts';
import { pathStyle } from '../routes/path-style.ts';
import { people } from '../routes/people.ts';
import { probes } from '../routes/probes.ts';
import { queryStyle } from '../routes/query-style.ts';
import { StoreError } from '../stores/errors.ts';
import type { Reader } from '../stores/reader.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { type RouteStyle, VARIANTS } from '../variants.ts';
import { createExplorerPage } from '../views/explorer-page.ts';

export interface AppOptions {
  readonly config: Config;
  readonly store: Reader;
  readonly telemetry: Telemetry;
}

/** The routes of each style of lookups. */
export const ROUTES: Record<RouteStyle, typeof pathStyle> = { path: pathStyle, query: queryStyle };

export function buildApp({ config, store, telemetry: { clients, counts, observe } }: AppOptions) {
  const health = createHealth(store);
  const rateLimit = createRateLimit(config, clients, observe);
  const writeAnswer = createAnswerWriter(config, observe);
  const dataHeaders = jsonHeaders(config.corsOrigin);

  const app = Fastify({
    ...OPTIONS,
    serverFactory: (route) =>
      createHttpServer(route, { config, isDraining: health.draining, rateLimit, observe }),
  }).withTypeProvider<TypeBoxTypeProvider>();

  app.decorateReply('dataHeaders', { getter: () => dataHeaders });
  addOriginHeaders(app, config);
  limits(app, { config, rateLimit, observe });
  answerPreflights(app);
  app.addHook('onSend', (request, reply, payload, done) => {
    observe({
      type: 'response',
      request: request.raw,
      operation: operationOf(request),
      status: reply.statusCode,
      bytes: lengthOf(payload, reply),
    });
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof RequestError) return void sendFailure(reply, error.code);
    observe({ type: 'request-failed', request: request.raw, error });
    // The log names it, so the client may ask about it.
    reply.header('x-request-id', clients.requestIdOf(request.raw));
    sendFailure(reply, isDataFault(error) ? 'NOT_READY' : 'INTERNAL');
  });
  allowMethods(app);
  const findAddress = noteAddresses(app);
  app.setNotFoundHandler((request, reply) => {
    request.addressed = findAddress(request);
    if (request.addressed === undefined) sendFailure(reply, 'ROUTE_NOT_FOUND');
    else if (request.method === 'OPTIONS') sendOptions(request, reply);
    else sendFailure(reply, 'METHOD_NOT_ALLOWED');
  });

  app.register(swagger, openapiOptions(config));
  for (const { variant, base } of listMounts(config)) {
    const options = { variant, base, store, writeAnswer, takedownStatus: config.takedownStatus };
    app.register(ROUTES[VARIANTS[variant].style], { prefix: base.path, ...options });
  }
  app.register(media, { config, observe });
  const exampleUsers = createExampleUsers(config, store);
  app.register(docs, {
    config,
    exampleUsers,
    describe: (host, users) => documentFor(host, app.swagger(), config, users),
  });
  const explorerPage = config.explorer ? createExplorerPage(config) : undefined;
  app.register(pages, { config, explorerPage, exampleUsers });
  for (const mount of listMounts(config)) app.register(people, { config, mount, store, exampleUsers });
  app.register(probes, { unready: health.unready });

  const openConnections = () => countConnections(app.server);
  return { app, health, sources: { counts, openConnections, store, unready: health.unready } };
}

const OPTIONS: FastifyServerOptions = {
  // The HTTP server does it.
  clientErrorHandler() {},
  rewriteUrl: (request) => pathToRoute(request),
  // While stopping, requests that still arrive are answered like the rest.
  return503OnClosing: false,
  schemaController: { compilersFactory: COMPILERS },
  routerOptions: {
    maxParamLength: LONGEST_URL,
    querystringParser: (text) => ({ ...parseQuery(text) }),
  },
};

/** Whether the server can serve: not while it stops, and not while its data cannot be read. */
function createHealth(store: Pick<Reader, 'fault'>) {
  let isDraining = false;
  return {
    draining: () => isDraining,
    drain() {
      isDraining = true;
    },
    /** Why requests should go elsewhere; undefined when they may come. */
    async unready(): Promise<string | undefined> {
      return isDraining ? 'The server is stopping.' : await store.fault();
    },
  };
}

const isDataFault = (error: unknown) =>
  error instanceof StoreError || (error instanceof Error && error.name === 'SqliteError');

function lengthOf(payload: unknown, reply: FastifyReply): number {
  if (typeof payload === 'string') return Buffer.byteLength(payload);
  if (Buffer.isBuffer(payload)) return payload.length;
  // Routes that stream know the length.
  return payload ? Number(reply.getHeader('content-length')) : 0;
}

function operationOf({ method, query, routeOptions, addressed }: FastifyRequest): Operation {
  if (method === 'OPTIONS') return PREFLIGHT;
  const { operation = OTHER } = addressed ?? routeOptions.config;
  return typeof operation === 'function' ? operation(query) : operation;
}

const countConnections = (server: Server) =>
  new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What requests of the route are counted as; it may depend on the query. */
    operation?: Operation | ((query: unknown) => Operation);
  }
}
