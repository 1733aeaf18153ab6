// The table of contents: what Vitrine answers, line by line.
import { Readable } from 'node:stream';
import swagger from '@fastify/swagger';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyServerOptions } from 'fastify';
import Fastify from 'fastify';
import { type Config, listMounts } from '../config/config.ts';
import { addLimits, addOriginHeaders, createRateLimit, refuseOtherMethods } from '../edge/hooks.ts';
import { countConnections, createHttpServer } from '../edge/http-server.ts';
import { createAnswerWriter } from '../http/answer.ts';
import { RequestError, sendFailure } from '../http/errors.ts';
import { addHeaders, jsonHeaders } from '../http/headers.ts';
import { COMPILERS, parseQuery } from '../http/input.ts';
import { LONGEST_URL, pathToRoute } from '../http/malformed.ts';
import { findOperation, type Observer, PREFLIGHT } from '../http/observations.ts';
import { createUserTags } from '../http/user-tags.ts';
import { createDocument, openapiOptions } from '../openapi/document.ts';
import { directory, directoryPages } from '../routes/directory.ts';
import { docs, openapi } from '../routes/docs.ts';
import { addErrorPages } from '../routes/error-pages.ts';
import { createExampleUsers, type ExampleUsers } from '../routes/example-users.ts';
import { pathStyle, queryStyle } from '../routes/lookup.ts';
import { files, media } from '../routes/media.ts';
import { oembed } from '../routes/oembed.ts';
import { pages } from '../routes/pages.ts';
import { people } from '../routes/people.ts';
import { addPersonPages } from '../routes/person-pages.ts';
import { probes } from '../routes/probes.ts';
import { sitemaps } from '../routes/sitemaps.ts';
import { PAGE_HEADERS } from '../routes/web-file.ts';
import { isDataFault } from '../stores/errors.ts';
import type { Awaitable, Reader } from '../stores/reader.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { type RouteStyle, STYLES, VARIANTS } from '../variants.ts';
import { createExplorerPage } from '../views/explorer-page.ts';

interface AppOptions {
  readonly config: Config;
  readonly store: Reader;
  readonly telemetry: Telemetry;
  /** Adds the hooks of `serve --rehearse`. */
  readonly rehearse?: ((app: Pick<FastifyInstance, 'addHook'>) => void) | undefined;
}

export const ROUTES: Record<RouteStyle, typeof pathStyle> = { path: pathStyle, query: queryStyle };

export function buildApp({ config, store, telemetry, rehearse }: AppOptions) {
  const { clients, counts, observe } = telemetry;
  const health = createHealth(store);
  const rateLimit = createRateLimit(config, clients, observe);
  const app = Fastify({
    ...OPTIONS,
    serverFactory: (route) => createHttpServer(route, { config, state: health.state, rateLimit, observe }),
  }).withTypeProvider<TypeBoxTypeProvider>();
  addOriginHeaders(app, config);
  observeResponses(app, observe);
  sendErrors(app, telemetry);
  rehearse?.(app);
  app.register(swagger, openapiOptions(config));
  const parts: Parts = {
    config,
    store,
    observe,
    exampleUsers: createExampleUsers(config, store),
    describe: (users) => createDocument(app.swagger(), config, users),
  };

  // What any program may read, on this site or another.
  app.register(async (data) => {
    addHeaders(data, jsonHeaders(config.corsOrigin));
    // They ask how things are, so no limit applies to them.
    data.register(probes, { unready: health.unready });
    data.register(async (limited) => {
      addLimits(limited, config, rateLimit, observe);
      if (config.explorer) addErrorPages(limited, config, store);
      registerData(limited, parts);
    });
    // Every route is GET, so other methods come here, too.
    data.register(async (unknown) => {
      addLimits(unknown, config, rateLimit, observe);
      refuseOtherMethods(unknown);
      if (config.explorer) addErrorPages(unknown, config, store);
      unknown.setNotFoundHandler((_request, reply) => void sendFailure(reply, 'ROUTE_NOT_FOUND'));
    });
  });
  // What people open in a browser.
  app.register(async (pages) => {
    addHeaders(pages, PAGE_HEADERS);
    addLimits(pages, config, rateLimit, observe);
    if (config.explorer) addErrorPages(pages, config, store);
    registerPages(pages, parts);
  });

  const openConnections = () => countConnections(app.server);
  return { app, drain: health.drain, sources: { counts, openConnections, store, unready: health.unready } };
}

interface Parts {
  readonly config: Config;
  readonly store: Reader;
  readonly observe: Observer;
  readonly exampleUsers: () => Awaitable<ExampleUsers>;
  readonly describe: (users: ExampleUsers) => object;
}

function registerData(app: FastifyInstance, { config, store, observe, exampleUsers, describe }: Parts): void {
  const { takedownStatus } = config;
  const writer = createAnswerWriter(config, observe);
  const tagUser = config.purge.length > 0 ? createUserTags(config) : undefined;
  for (const { variant, base } of listMounts(config))
    app.register(ROUTES[VARIANTS[variant].style], {
      prefix: base.path,
      variant,
      base,
      addresses: STYLES[VARIANTS[variant].style],
      store,
      writer,
      tagUser,
      takedownStatus,
    });
  app.register(openapi, { config, exampleUsers, describe });
  app.register(media, { config, observe });
  if (config.explorer) app.register(oembed, { config, store });
  if (config.directory) {
    app.register(directory, { config, store });
    app.register(sitemaps, { config, store });
  }
  for (const mount of listMounts(config)) app.register(people, { config, mount, store, exampleUsers });
}

function registerPages(app: FastifyInstance, parts: Parts): void {
  const { config, store, observe, exampleUsers, describe } = parts;
  app.register(files, { config, observe });
  if (config.explorer) app.register(docs, { config, exampleUsers, describe });
  const explorerPage = config.explorer ? createExplorerPage(config) : undefined;
  app.register(pages, { config, store, explorerPage, exampleUsers });
  if (config.directory) app.register(directoryPages, { config, store });
  if (!config.explorer) return;
  for (const mount of listMounts(config)) addPersonPages(app, { config, mount, store, exampleUsers });
}

const OPTIONS: FastifyServerOptions = {
  // The HTTP server does it.
  clientErrorHandler() {},
  rewriteUrl: pathToRoute,
  // While stopping, requests that still arrive are answered like the rest.
  return503OnClosing: false,
  schemaController: { compilersFactory: COMPILERS },
  routerOptions: {
    maxParamLength: LONGEST_URL,
    querystringParser: parseQuery,
  },
};

/** Responses are counted and logged when they are handed to Node, and streams when they begin; lookups do it themselves. */
function observeResponses(app: FastifyInstance, observe: Observer): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    function note(): void {
      const bytes = request.method === 'HEAD' ? 0 : Number(reply.getHeader('content-length') ?? 0);
      const operation = request.method === 'OPTIONS' ? PREFLIGHT : findOperation(request);
      observe({ type: 'response', request: request.raw, operation, status: reply.statusCode, bytes });
    }
    if (payload instanceof Readable) note();
    // If its headers cannot be written, an error is sent in its place, and passes here again.
    else if (reply.raw.listenerCount('prefinish') === 0) reply.raw.once('prefinish', note);
    done();
  });
}

function sendErrors(app: FastifyInstance, { clients, observe }: Telemetry): void {
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof RequestError) return void sendFailure(reply, error.code);
    observe({ type: 'request-failed', request: request.raw, error });
    // The log names it, so the client may ask about it.
    reply.header('x-request-id', clients.findRequestId(request.raw));
    sendFailure(reply, isDataFault(error) ? 'NOT_READY' : 'INTERNAL');
  });
}

/** Whether the server can serve: not while it stops, and not while its data cannot be read. */
function createHealth(store: Pick<Reader, 'fault'>) {
  const state = { isDraining: false };
  return {
    state,
    drain() {
      state.isDraining = true;
    },
    /** Why requests should go elsewhere; undefined when they may come. */
    async unready(): Promise<string | undefined> {
      return state.isDraining ? 'The server is stopping.' : await store.fault();
    },
  };
}
