// Fastify as it is used here: read-only routes, input checked as it is, and our own words for every error.
import { METHODS } from 'node:http';
import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifySchema,
  type FastifySchemaCompiler,
  type FastifyServerFactory,
  type FastifyServerOptions,
  type RouteHandlerMethod,
} from 'fastify';
import { hostKey } from './config.ts';
import { refuseMalformed } from './gate.ts';
import { type Operation, OTHER } from './operations.ts';
import { parseQuery } from './query.ts';
import type { Responder } from './respond.ts';

export interface RouterOptions {
  readonly respond: Responder;
  readonly serverFactory?: FastifyServerFactory;
  readonly longestParameter?: number;
}

export function createRouter({ respond, serverFactory, longestParameter = 100 }: RouterOptions): FastifyInstance {
  const router = Fastify({
    ...(serverFactory && { serverFactory }),
    clientErrorHandler: (error, socket) => refuseMalformed(error as Error, socket),
    frameworkErrors: (error, request, reply) => {
      reply.hijack();
      respond.failure(request.raw, reply.raw, OTHER, error.code === 'FST_ERR_BAD_URL' ? 'BAD_ESCAPE' : 'URI_TOO_LONG');
    },
    // While stopping, what still arrives is answered like the rest.
    return503OnClosing: false,
    routerOptions: {
      maxParamLength: longestParameter,
      querystringParser: parseQuery as (text: string) => Record<string, unknown>,
      constraints: { site: SITE },
    },
  });
  router.setValidatorCompiler(strictly);
  // Bodies are nobody's business here: whatever comes is left unread.
  router.removeAllContentTypeParsers();
  router.addContentTypeParser('*', (_request, _payload, done) => done(null));
  for (const method of METHODS) if (!router.supportedMethods.includes(method)) router.addHttpMethod(method);
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

const OTHER_METHODS = METHODS.filter((method) => !['GET', 'HEAD', 'OPTIONS'].includes(method));

export interface ReadOnlyRoute {
  readonly url: string;
  readonly host: string | undefined;
  readonly operation: Operation;
  readonly schema?: FastifySchema;
  readonly handler: RouteHandlerMethod;
}

/** GET and HEAD as given, OPTIONS answered, and every other method refused before its body is looked at. */
export function readOnlyRoute(
  app: FastifyInstance,
  respond: Responder,
  { url, host, operation, schema, handler }: ReadOnlyRoute,
): void {
  const common = { url, constraints: host === undefined ? {} : { site: host }, config: { operation } };
  app.route({ ...common, method: 'GET', schema: schema ?? {}, attachValidation: true, handler });
  const refusal = (request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack();
    if (request.method === 'OPTIONS') respond.options(request.raw, reply.raw, operation);
    else respond.failure(request.raw, reply.raw, operation, 'METHOD_NOT_ALLOWED');
  };
  app.route({
    ...common,
    method: ['OPTIONS', ...OTHER_METHODS],
    schema: { hide: true } as FastifySchema,
    onRequest: (request, reply) => refusal(request, reply),
    handler: refusal,
  });
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
