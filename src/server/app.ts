// The table of contents: what Vitrine answers, line by line.
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { createClients } from '../edge/client.ts';
import { createGate } from '../edge/gate.ts';
import { createLagWatch, createRateLimit } from '../edge/limits.ts';
import { createAnswers } from '../http/answer-cache.ts';
import { createResponder } from '../http/respond.ts';
import { docs } from '../routes/docs.ts';
import { pages } from '../routes/pages.ts';
import { pathStyle } from '../routes/path-style.ts';
import { queryStyle } from '../routes/query-style.ts';
import type { VariantOptions } from '../routes/reading.ts';
import type { Reader } from '../stores/store.ts';
import type { Operation } from '../telemetry/operations.ts';
import { createRequestCounts } from '../telemetry/request-counts.ts';
import { createChronicle } from '../telemetry/request-log.ts';
import { createHealth, probes } from './admin.ts';
import { createRouter } from './router.ts';

export interface AppOptions {
  readonly config: Config;
  readonly store: Reader;
  readonly log: Logger;
}

export function buildApp({ config, store, log }: AppOptions) {
  const health = createHealth(store);
  const clients = createClients(config);
  const requests = createRequestCounts();
  const chronicle = createChronicle({ config, log, clients, requests });
  const respond = createResponder({ config, observe: chronicle.observe, onFault: chronicle.fault });
  const answers = createAnswers<Operation>({
    reader: store,
    maxBytes: config.answersBytes,
    headersOf: respond.headersOf,
  });
  const lag = createLagWatch(config);
  const rateLimit = createRateLimit(config, clients);
  const { overloaded } = lag;
  const gate = createGate({ config, answers, respond, overloaded, rateLimit, draining: health.draining });

  const app = createRouter({ config, respond, serverFactory: gate.serverFor });

  const shared = { reader: store, answers, respond };
  const variants = [
    { plugin: queryStyle, variant: 'a', base: config.baseUrlA, family: 'microblog', collection: 'posts' },
    { plugin: pathStyle, variant: 'b', base: config.baseUrlB, family: 'portfolio', collection: 'Shots' },
    { plugin: pathStyle, variant: 'c', base: config.baseUrlC, family: 'portfolio', collection: 'Posts' },
  ] as const;
  const mount = (router: FastifyInstance): void => {
    for (const { plugin, base, ...variant } of variants)
      if (base !== undefined)
        router.register(plugin, { ...variant, ...shared, base } satisfies VariantOptions);
  };
  mount(app);
  app.register(docs, {
    ...{ config, respond },
    describe: async () => (await import('../openapi/document.ts')).describeRoutes({ config, respond, mount }),
  });
  app.register(pages, { config, respond });
  app.register(probes, { health, respond });

  app.addHook('onClose', lag.stop);

  return { app, gate, health, respond, sources: { requests, answers, store } };
}
