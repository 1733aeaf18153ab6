// The table of contents: what Vitrine answers, line by line.
import type { Server } from 'node:http';
import swagger from '@fastify/swagger';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify from 'fastify';
import type { Logger } from 'pino';
import { type Config, sitesOf } from '../config/config.ts';
import { createClients } from '../edge/clients.ts';
import { addOriginHeaders, addPreflights } from '../edge/cors.ts';
import { createHttpServer } from '../edge/http-server.ts';
import { addLimits, createLimits } from '../edge/limits.ts';
import { answerOtherMethods } from '../edge/methods.ts';
import { jsonHeaders } from '../http/headers.ts';
import { createAnswerWriter } from '../http/write-answer.ts';
import { documentFor, openapiOptions } from '../openapi/document.ts';
import { docs } from '../routes/docs.ts';
import { createExampleUsers } from '../routes/example-users.ts';
import { media } from '../routes/media.ts';
import { pages } from '../routes/pages.ts';
import { pathStyle } from '../routes/path-style.ts';
import { people } from '../routes/people.ts';
import { probes } from '../routes/probes.ts';
import { queryStyle } from '../routes/query-style.ts';
import { keepAnswers } from '../stores/keep-answers.ts';
import type { Reader } from '../stores/reader.ts';
import { createConnectionLog } from '../telemetry/connection-log.ts';
import { createRequestCounts } from '../telemetry/request-counts.ts';
import { createRequestLog } from '../telemetry/request-log.ts';
import { type RouteStyle, VARIANTS } from '../variants.ts';
import { createExplorerPage } from '../views/explorer-page.ts';
import { addErrorHandlers, addResponseHook, fastifyOptions } from './fastify.ts';
import { createHealth } from './health.ts';

export interface AppOptions {
  readonly config: Config;
  readonly store: Reader;
  readonly log: Logger;
}

/** The routes of each style of lookups. */
export const ROUTES: Record<RouteStyle, typeof pathStyle> = { path: pathStyle, query: queryStyle };

export function buildApp({ config, store, log }: AppOptions) {
  const health = createHealth(store);
  const clients = createClients(config);
  const counts = createRequestCounts();
  const requestLog = createRequestLog({ config, log, clients, counts });
  const connections = createConnectionLog(log);
  const answers = keepAnswers(store, config.answersBytes);
  const writeAnswer = createAnswerWriter(config, requestLog.observe);
  const limits = createLimits(config, clients);

  const app = Fastify({
    ...fastifyOptions(),
    serverFactory: (route) =>
      createHttpServer(route, {
        config,
        isDraining: health.draining,
        rateLimit: limits.rateLimit,
        observe: requestLog.observe,
        onError: requestLog.lostRequest,
        onRefused: connections.refused.add,
        onStalled: connections.stalled.add,
      }),
  }).withTypeProvider<TypeBoxTypeProvider>();

  addErrorHandlers(app, requestLog.fault);
  addOriginHeaders(app, config);
  addLimits(app, limits);
  addPreflights(app);
  addResponseHook(app, jsonHeaders(config.corsOrigin), requestLog.observe);
  answerOtherMethods(app);

  app.register(swagger, openapiOptions(config));
  for (const { variant, base } of sitesOf(config)) {
    const options = { variant, base, store: answers, writeAnswer, takedownStatus: config.takedownStatus };
    app.register(ROUTES[VARIANTS[variant].style], { prefix: base.path, ...options });
  }
  app.register(media, { config, logFault: requestLog.fault });
  const exampleUsers = createExampleUsers(config, store);
  app.register(docs, {
    config,
    exampleUsers,
    describe: (host, users) => documentFor(host, app.swagger(), config, users),
  });
  const explorerPage = config.explorer ? createExplorerPage(config) : undefined;
  app.register(pages, { config, explorerPage, exampleUsers });
  for (const site of sitesOf(config)) app.register(people, { config, site, store, exampleUsers });
  app.register(probes, { unready: health.unready });

  app.addHook('onClose', limits.stop);
  const openConnections = () => countConnections(app.server);
  return {
    app,
    health,
    requestLog,
    sources: { counts, limits, connections, openConnections, answers, store, unready: health.unready },
  };
}

const countConnections = (server: Server) =>
  new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
