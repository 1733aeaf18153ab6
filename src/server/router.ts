// Fastify as it is used here: read-only routes, and our own words for every error.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, {
  type FastifyInstance,
  type FastifyServerFactory,
  type FastifyServerOptions,
  type RouteHandlerMethod,
} from 'fastify';
import type { Config } from '../config/config.ts';
import { hostKey } from '../config/setting-values.ts';
import { createRefusals } from '../edge/malformed.ts';
import { parseQuery } from '../http/query.ts';
import type { Responder, TimedRequest } from '../http/respond.ts';
import { type Operation, OTHER } from '../telemetry/operations.ts';

export interface RouterOptions {
  readonly config: Config;
  readonly respond: Responder;
  readonly serverFactory?: FastifyServerFactory;
}

export function createRouter({ config, respond, serverFactory }: RouterOptions): FastifyInstance {
  const router = Fastify({
    ...(serverFactory && { serverFactory }),
    clientErrorHandler: (error, socket) => createRefusals(config).malformed(error as Error, socket as Socket),
    frameworkErrors: (error, request, reply) => {
      reply.hijack();
      respond.failure(
        request.raw,
        reply.raw,
        OTHER,
        error.code === 'FST_ERR_BAD_URL' ? 'BAD_ESCAPE' : 'URI_TOO_LONG',
      );
    },
    // No route has a schema that is to be compiled: so no start loads the compilers for them.
    schemaController: {
      compilersFactory: {
        buildValidator: () => (() => () => true) as never,
        buildSerializer: () => () => JSON.stringify,
      },
    },
    // While stopping, what still arrives is answered like the rest.
    return503OnClosing: false,
    routerOptions: {
      maxParamLength: config.maxHeaderBytes,
      querystringParser: parseQuery as (text: string) => Record<string, unknown>,
      constraints: { site: SITE },
    },
  });
  router.setNotFoundHandler((request, reply) => {
    reply.hijack();
    respond.failure(request.raw, reply.raw, OTHER, 'ROUTE_NOT_FOUND');
  });
  router.setErrorHandler((error, request, reply) => {
    reply.hijack();
    respond.fault(request.raw, reply.raw, request.routeOptions.config.operation ?? OTHER, error);
  });
  return router;
}

/** Makes any request one that the router knows: which address it is for is settled as for a read, its body is left alone. */
export function asRead(request: IncomingMessage): IncomingMessage {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    (request as TimedRequest).otherMethod = request.method;
    request.method = 'GET';
  }
  return request;
}

export type Input = 'querystring' | 'params';

export interface ReadOnlyRoute {
  readonly url: string;
  readonly host: string | undefined;
  readonly operation: Operation;
  /** Where the user stands; the API's description tells of the routes that say it. */
  readonly input?: Input;
  readonly handler: RouteHandlerMethod;
}

/** GET and HEAD as given, OPTIONS answered, and every other method refused. */
export function readOnlyRoute(
  app: FastifyInstance,
  respond: Responder,
  { url, host, operation, input, handler }: ReadOnlyRoute,
): void {
  app.route({
    method: 'GET',
    url,
    constraints: host === undefined ? {} : { site: host },
    config: { operation, input },
    handler(request, reply) {
      const { otherMethod } = request.raw as TimedRequest;
      if (otherMethod === undefined) return handler.call(this, request, reply);
      reply.hijack();
      if (otherMethod === 'OPTIONS') respond.options(request.raw, reply.raw, operation);
      else respond.failure(request.raw, reply.raw, operation, 'METHOD_NOT_ALLOWED');
    },
  });
}

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
    input?: Input | undefined;
  }
}
