// The table of contents: what Vitrine answers, line by line.
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { createAnswers } from './answers.ts';
import { createChronicle } from './chronicle.ts';
import { createClients } from './client.ts';
import type { Config } from './config.ts';
import { docs } from './docs.ts';
import { createGate } from './gate.ts';
import { createLagWatch, createRateLimit } from './limits.ts';
import type { Operation } from './operations.ts';
import { createHealth, probes } from './ops.ts';
import { pages } from './pages.ts';
import { createRequestCounts } from './request-counts.ts';
import { createResponder } from './respond.ts';
import { createRouter } from './router.ts';
import type { Reader } from './stores/store.ts';
import { pathStyle } from './variants/path-style.ts';
import { queryStyle } from './variants/query-style.ts';
import type { VariantOptions } from './variants/reading.ts';

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
    describe: async () => (await import('./openapi.ts')).describeRoutes({ config, respond, mount }),
  });
  app.register(pages, { config, respond });
  app.register(probes, { health, respond });

  app.addHook('onClose', lag.stop);

  return { app, gate, health, respond, sources: { requests, answers, store } };
}
