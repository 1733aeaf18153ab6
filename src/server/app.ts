// The table of contents: a Fastify app with the API of each variant (api/api.ts), pages and all else that Vitrine answers,
// line by line, over one store that it only reads.
import swagger from '@fastify/swagger';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyInstance } from 'fastify';
import { api } from '../api/api.ts';
import { addHeaders, jsonHeaders } from '../api/http/headers.ts';
import { COMPILERS, parseQuery } from '../api/http/input.ts';
import type { Observer } from '../api/http/observations.ts';
import { media, servedFiles } from '../api/media.ts';
import { createDocument, openapiOptions } from '../api/openapi/document.ts';
import { createExampleUsers } from '../api/openapi/example-users.ts';
import { type DescriptionOptions, openapi } from '../api/openapi/openapi.ts';
import { type Config, listMounts } from '../config/settings.ts';
import { directory, directoryPages } from '../pages/directory/directory.ts';
import { sitemaps } from '../pages/directory/sitemaps.ts';
import { docs } from '../pages/docs/docs.ts';
import { addErrorPages } from '../pages/error-pages.ts';
import { explorer } from '../pages/explorer/explorer.ts';
import { PAGE_HEADERS } from '../pages/page-headers.ts';
import { people } from '../pages/people/cards.ts';
import { oembed } from '../pages/people/oembed.ts';
import { addPersonPages } from '../pages/people/person-pages.ts';
import type { Reader } from '../stores/reader.ts';
import { addLimits, addOriginHeaders, createRateLimit } from './edge/hooks.ts';
import { behindHttpServer, countConnections } from './edge/http-server.ts';
import { LONGEST_URL } from './edge/malformed.ts';
import { createHealth, probes } from './probes.ts';
import { observeResponses, refuseOthers, sendErrors } from './responses.ts';
import { readStorage } from './telemetry/storage.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

interface AppOptions {
  readonly config: Config;
  readonly store: Reader;
  readonly telemetry: Telemetry;
  /** Adds the hooks of `serve --rehearse`. */
  readonly rehearse?: ((app: Pick<FastifyInstance, 'addHook'>) => void) | undefined;
}

export function buildApp({ config, store, telemetry, rehearse }: AppOptions) {
  const { clients, counts, observe } = telemetry;
  const health = createHealth(store, counts.totals);
  const rateLimit = createRateLimit(config, clients, observe);
  const app = Fastify({
    ...behindHttpServer({ config, state: health.state, rateLimit, observe }),
    genReqId: clients.findRequestId,
    schemaController: { compilersFactory: COMPILERS },
    routerOptions: { maxParamLength: LONGEST_URL, querystringParser: parseQuery },
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

  function limit(part: FastifyInstance): void {
    addLimits(part, config, rateLimit, observe);
    if (config.explorer) addErrorPages(part, config, store);
  }
  // Data: what any program may read, on this site or another.
  app.register(async (data) => {
    addHeaders(data, jsonHeaders(config.corsOrigin));
    // No limit applies to those who ask whether the server is well.
    data.register(probes, { health: health.find, saysWhy: false });
    data.register(async (limited) => {
      limit(limited);
      registerData(limited, parts);
    });
    // Every route is GET, so other methods come here, too.
    data.register(async (unknown) => {
      limit(unknown);
      refuseOthers(unknown);
    });
  });
  // Pages: what people open in a browser.
  app.register(async (pages) => {
    addHeaders(pages, PAGE_HEADERS);
    limit(pages);
    registerPages(pages, parts);
  });

  const openConnections = () => countConnections(app.server);
  return {
    app,
    drain: health.drain,
    sources: { counts, openConnections, store, health: health.find, storage: () => readStorage(config) },
  };
}

/** What the plugins below take as their options. */
interface Parts extends DescriptionOptions {
  readonly store: Reader;
  readonly observe: Observer;
}

function registerData(app: FastifyInstance, parts: Parts): void {
  const { config } = parts;
  app.register(api, parts);
  app.register(openapi, parts);
  app.register(media, parts);
  if (config.explorer) app.register(oembed, parts);
  if (config.directory) {
    app.register(directory, parts);
    app.register(sitemaps, parts);
  }
  for (const mount of listMounts(config)) app.register(people, { ...parts, mount });
}

function registerPages(app: FastifyInstance, parts: Parts): void {
  const { config } = parts;
  app.register(servedFiles, parts);
  app.register(explorer, parts);
  if (config.explorer) {
    app.register(docs, parts);
    for (const mount of listMounts(config)) addPersonPages(app, { ...parts, mount });
  }
  if (config.directory) app.register(directoryPages, parts);
}
