// What is decided of each request before its route: limits for clients, who may read, and which methods there are.

import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { sendFailure } from '../../api/http/errors.ts';
import { addVary, type Headers, METHODS, oneOrigin } from '../../api/http/headers.ts';
import type { Observer } from '../../api/http/observations.ts';
import type { Config } from '../../config/settings.ts';
import type { Clients } from './clients.ts';

interface Allowance {
  readonly refused: boolean;
  readonly headers: Headers;
}

/** How many clients are counted at a time; the oldest are forgotten first. */
const MOST_CLIENTS = 100_000;

export type RateLimit = NonNullable<ReturnType<typeof createRateLimit>>;

export function createRateLimit(
  { rateLimit, rateLimitExempt }: Pick<Config, 'rateLimit' | 'rateLimitExempt'>,
  clients: Clients,
  observe: Observer,
) {
  if (rateLimit === undefined) return undefined;
  const { requests, window } = rateLimit;
  const exempt = proxyAddr.compile(rateLimitExempt);
  const policy = `"default";q=${requests};w=${Math.ceil(window / 1000)}`;
  const used = new Map<string, { count: number; ends: number }>();

  /** Counts a request; undefined for a client without a limit. */
  return (request: IncomingMessage): Allowance | undefined => {
    const address = clients.findClientAddress(request);
    if (exempt(address, 0)) return undefined;
    const key = clientKey(address);
    const time = performance.now();
    let use = used.get(key);
    if (use === undefined || use.ends <= time) {
      use = { count: 0, ends: time + window };
      // Deleted first, so that the map stays ordered by the ends of the windows: its first key is the oldest.
      used.delete(key);
      used.set(key, use);
      const [oldest = ''] = used.keys();
      if (used.size > MOST_CLIENTS) used.delete(oldest);
    }
    use.count++;
    const left = Math.max(requests - use.count, 0);
    const seconds = Math.ceil((use.ends - time) / 1000);
    const refused = use.count > requests;
    if (refused) observe({ type: 'request-refused', reason: 'rate' });
    return {
      refused,
      headers: {
        'ratelimit-policy': policy,
        ratelimit: `"default";r=${left};t=${seconds}`,
        ...(refused && { 'retry-after': String(seconds) }),
      },
    };
  };
}

/**
 * Refuses the requests of this context that are over the limits. Not by @fastify/under-pressure, which costs the same: it sees
 * no delay, as no turn takes long (queueLongTurns). At twice the load that one process can serve, it refused none, and the
 * median response took 4 to 5 s. With this hook it took 0.5 s.
 */
export function addLimits(
  app: FastifyInstance,
  { maxLoopDelay }: Pick<Config, 'maxLoopDelay'>,
  rateLimit: RateLimit | undefined,
  observe: Observer,
): void {
  const mostWaited = maxLoopDelay || Number.POSITIVE_INFINITY;
  app.addHook('onRequest', function refuseOverLimits(request, reply, done) {
    // How long others were handled before the request; an injected one did not wait.
    const { arrived } = request.raw;
    const ms = arrived === undefined ? 0 : performance.now() - arrived;
    if (ms > mostWaited) {
      observe({ type: 'request-refused', reason: 'overload', ms: Math.round(ms) });
      return void sendFailure(reply, 'OVERLOADED');
    }
    const allowance = rateLimit?.(request.raw);
    if (allowance !== undefined) reply.headers(allowance.headers);
    if (!allowance?.refused) return done();
    sendFailure(reply, 'RATE_LIMITED');
  });
}

/** Clients with the same key count as one: an IPv4 address, or an IPv6 network of 64 bits. */
function clientKey(address: string): string {
  if (isIP(address) !== 6 || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return 'parts' in parsed ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
}

// CORS for a list of origins. With `*` they are the same for all, and are among jsonHeaders().

/** With a list of origins, who may read depends on who asks. */
export function originHeaders(
  { corsOrigin }: Pick<Config, 'corsOrigin'>,
  { headers: { origin } }: IncomingMessage,
): Headers {
  if (corsOrigin === '*' || corsOrigin.length === 0) return {};
  return { vary: 'Origin', ...(origin !== undefined && corsOrigin.includes(origin) && oneOrigin(origin)) };
}

/** Says who may read, also in errors of later hooks. */
export function addOriginHeaders(app: FastifyInstance, config: Pick<Config, 'corsOrigin'>): void {
  if (config.corsOrigin === '*' || config.corsOrigin.length === 0) return;
  app.addHook('onRequest', function setOriginHeaders(request, reply, done) {
    const { vary, ...headers } = originHeaders(config, request.raw);
    if (vary !== undefined) addVary(reply, vary);
    reply.headers(headers);
    done();
  });
}

// Everything can only be read: any other method is answered 405 with Allow, whatever the address.

const A_DAY = '86400';

/** It comes after the limits, and before a body would be read. */
export function refuseOtherMethods(app: FastifyInstance): void {
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.method === 'GET' || request.method === 'HEAD') done();
    else if (request.method === 'OPTIONS') sendOptions(request, reply);
    else sendFailure(reply, 'METHOD_NOT_ALLOWED');
  });
}

/** 204; a browser that asks before it fetches learns what it may send. */
function sendOptions({ headers }: FastifyRequest, reply: FastifyReply): void {
  if (headers['access-control-request-method'] !== undefined)
    reply.headers({
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': '*',
      'access-control-max-age': A_DAY,
    });
  reply.code(204).header('allow', METHODS).send();
}
