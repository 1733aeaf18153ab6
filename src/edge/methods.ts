// Known addresses answer other methods than GET and HEAD with 405 and Allow; unknown ones are 404 whatever the method.
// A route for each of Node's 33 other methods would do the same, and takes 50 ms of every start.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { METHODS } from '../http/answer.ts';
import { sendFailure } from '../http/errors.ts';
import { METHODS as NODE_METHODS } from '../http/node-http.ts';

const A_DAY = '86400';

type RouteConfig = FastifyRequest['routeOptions']['config'];

interface Address {
  readonly pattern: RegExp;
  readonly host: RegExp | undefined;
  readonly config: Partial<RouteConfig>;
}

/** Lets every method arrive; no body is ever read. */
export function allowMethods(app: FastifyInstance): void {
  for (const method of NODE_METHODS)
    if (method !== 'CONNECT') app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
}

/** Notes the addresses of routes that are registered after it; finds the config of the one that a request names. */
export function noteAddresses(app: FastifyInstance) {
  const addresses: Address[] = [];
  app.addHook('onRoute', ({ method, url, constraints, config = {} }) => {
    const { host } = (constraints ?? {}) as { host?: RegExp };
    if (method === 'GET') addresses.push({ pattern: pathPattern(url), host, config });
  });

  return ({ method, url, headers }: FastifyRequest): Partial<RouteConfig> | undefined => {
    if (method === 'GET' || method === 'HEAD') return undefined;
    const path = url.split('?', 1)[0] as string;
    return addresses.find(
      ({ pattern, host }) => pattern.test(path) && (host?.test(headers.host ?? '') ?? true),
    )?.config;
  };
}

/** The paths of a route: a parameter stands for one segment. */
const pathPattern = (url: string) =>
  new RegExp(`^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:[a-z]+/g, '[^/]+')}$`);

/** Answers what no route does. OPTIONS is also answered for unknown addresses if a browser asks before it fetches. */
export function sendNotFound(app: FastifyInstance, findAddress: ReturnType<typeof noteAddresses>): void {
  app.setNotFoundHandler((request, reply) => {
    request.addressed = findAddress(request);
    const isOptions = request.method === 'OPTIONS';
    const isKnown = request.addressed !== undefined;
    if (isOptions && (isKnown || isPreflight(request) || request.raw.url === '*'))
      sendOptions(request, reply);
    else sendFailure(reply, isKnown ? 'METHOD_NOT_ALLOWED' : 'ROUTE_NOT_FOUND');
  });
}

const isPreflight = ({ headers }: FastifyRequest) => headers['access-control-request-method'] !== undefined;

/** 204; a browser that asks before it fetches is told what it may send. */
function sendOptions(request: FastifyRequest, reply: FastifyReply): void {
  if (isPreflight(request))
    reply.headers({
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': '*',
      'access-control-max-age': A_DAY,
    });
  reply.code(204).header('allow', METHODS).send();
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The config of the route whose address a request of another method names. */
    addressed?: Partial<FastifyRequest['routeOptions']['config']> | undefined;
  }
}
