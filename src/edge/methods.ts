// Known addresses answer other methods than GET and HEAD with 405 and Allow; unknown ones are 404 whatever the method.
// A route for each of Node's 33 other methods would do the same, and takes 50 ms of every start.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { METHODS as NODE_METHODS } from '../http/node-http.ts';

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

declare module 'fastify' {
  interface FastifyRequest {
    /** The config of the route whose address a request of another method names. */
    addressed?: Partial<FastifyRequest['routeOptions']['config']> | undefined;
  }
}
