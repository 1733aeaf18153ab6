// Known addresses answer other methods than GET and HEAD with 405 and Allow; unknown ones are 404 whatever the method.
// A route for each of Node's 33 other methods would do the same, and takes 50 ms of every start.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { hostKey } from '../config/setting-values.ts';
import { METHODS as NODE_METHODS } from '../http/node-http.ts';
import { sendFailure } from '../http/replies.ts';
import { sendOptions } from './cors.ts';

type RouteConfig = FastifyRequest['routeOptions']['config'];

interface Address {
  readonly pattern: RegExp;
  readonly host: string | undefined;
  readonly config: Partial<RouteConfig>;
}

/** Answers whatever no route matches. It has to be called before the routes are registered. */
export function answerOtherMethods(app: FastifyInstance): void {
  // No body is ever read, whatever the method.
  for (const method of NODE_METHODS)
    if (method !== 'CONNECT') app.addHttpMethod(method, { hasBody: false, overrideExisting: true });

  const addresses: Address[] = [];
  app.addHook('onRoute', ({ method, url, constraints, config = {} }) => {
    const { site } = (constraints ?? {}) as { site?: string };
    if (method === 'GET') addresses.push({ pattern: patternOf(url), host: site, config });
  });

  app.setNotFoundHandler((request, reply) => {
    const known = addresses.find((address) => matches(address, request));
    if (known === undefined) return void sendFailure(reply, 'ROUTE_NOT_FOUND');
    request.addressed = known.config;
    if (request.method === 'OPTIONS') sendOptions(request, reply);
    else sendFailure(reply, 'METHOD_NOT_ALLOWED');
  });
}

/** The paths of a route: a parameter stands for one segment. */
const patternOf = (url: string) =>
  new RegExp(`^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:[a-z]+/g, '[^/]+')}$`);

function matches({ pattern, host }: Address, { method, url, headers }: FastifyRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  const path = url.split('?', 1)[0] as string;
  return pattern.test(path) && (host === undefined || host === hostKey(headers.host ?? ''));
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The config of the route whose address a request of another method names. */
    addressed?: Partial<FastifyRequest['routeOptions']['config']>;
  }
}
