// The table of contents: what Vitrine answers, line by line.
import { METHODS } from 'node:http';
import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import Fastify, { type FastifySchemaCompiler, type FastifyServerOptions } from 'fastify';
import type { Logger } from 'pino';
import { createAnswers } from './answers.ts';
import { type Config, hostKey } from './config.ts';
import { createGate, refuseMalformed } from './gate.ts';
import { type Operation, OTHER } from './operations.ts';
import { createHealth, probes } from './ops.ts';
import { createResponder } from './respond.ts';
import type { Reader } from './stores/store.ts';
import { pathStyle } from './variants/path-style.ts';
import { parseQuery, queryStyle } from './variants/query-style.ts';
import type { VariantOptions } from './variants/reading.ts';

export interface AppOptions {
  readonly config: Config;
  readonly store: Reader;
  readonly log: Logger;
}

export function buildApp({ config, store, log }: AppOptions) {
  const health = createHealth(store);
  const respond = createResponder({
    config,
    observe: () => {},
    onFault: (request, error) => log.error({ err: error, method: request.method, url: request.url }, 'request failed'),
    closing: health.draining,
  });
  const answers = createAnswers<Operation>({ reader: store, maxBytes: config.answersBytes, headersOf: respond.headersOf });

  const app = Fastify({
    serverFactory: (route) => createGate({ config, answers, respond }, route),
    clientErrorHandler: (error, socket) => refuseMalformed(error as Error, socket),
    frameworkErrors: (error, request, reply) => {
      reply.hijack();
      respond.failure(request.raw, reply.raw, OTHER, error.code === 'FST_ERR_BAD_URL' ? 'BAD_ESCAPE' : 'URI_TOO_LONG');
    },
    // Draining is told by the responder, in our own words.
    return503OnClosing: false,
    routerOptions: {
      maxParamLength: config.maxHeaderBytes,
      querystringParser: parseQuery as (text: string) => Record<string, unknown>,
      constraints: { site: SITE },
    },
  });
  app.setValidatorCompiler(strictly);
  // Bodies are nobody's business here: whatever comes is left unread.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  app.setNotFoundHandler((request, reply) => {
    reply.hijack();
    respond.failure(request.raw, reply.raw, OTHER, 'ROUTE_NOT_FOUND');
  });
  app.setErrorHandler((error, request, reply) => {
    reply.hijack();
    respond.fault(request.raw, reply.raw, request.routeOptions.config.operation ?? OTHER, error);
  });

  const shared = { reader: store, answers, respond };
  const variants = [
    { plugin: queryStyle, variant: 'a', base: config.baseUrlA, family: 'microblog', collection: 'posts' },
    { plugin: pathStyle, variant: 'b', base: config.baseUrlB, family: 'portfolio', collection: 'Shots' },
    { plugin: pathStyle, variant: 'c', base: config.baseUrlC, family: 'portfolio', collection: 'Posts' },
  ] as const;
  for (const { plugin, base, ...variant } of variants)
    if (base !== undefined) app.register(plugin, { ...variant, ...shared, base } satisfies VariantOptions);
  app.register(probes, { health, respond });

  return { app, health, answers };
}

/** Checks input as it is: the type provider's own compiler would first turn what does not fit into what does. */
const strictly: FastifySchemaCompiler<unknown> = ({ schema }) => {
  const compiled = TypeCompiler.Compile(schema as TSchema);
  return (value) =>
    compiled.Check(value)
      ? { value }
      : { error: [...compiled.Errors(value)].map(({ message, path }) => ({ message, instancePath: path })) as never };
};

/** A variant whose base address names a host answers on that host only. */
const SITE: NonNullable<NonNullable<FastifyServerOptions['routerOptions']>['constraints']>[string] = {
  name: 'site',
  storage() {
    const sites = new Map();
    return { get: (site) => sites.get(site) ?? null, set: (site, route) => void sites.set(site, route) };
  },
  validate() {},
  deriveConstraint: (request) => hostKey(request.headers.host ?? ''),
};

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
  }
}
