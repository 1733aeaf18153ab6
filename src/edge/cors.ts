// CORS for a list of origins, and preflight requests for any. With `*` the headers are the same for everybody and are
// among jsonHeaders().
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config/config.ts';
import { METHODS, oneOrigin, setHeaders } from '../http/headers.ts';

const A_DAY = '86400';

export function addOriginHeaders(app: FastifyInstance, { corsOrigin }: Pick<Config, 'corsOrigin'>): void {
  if (corsOrigin === '*' || corsOrigin.length === 0) return;
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers;
    // On the response itself, since answers may be written past the reply.
    reply.raw.setHeader('vary', 'Origin');
    if (origin !== undefined && corsOrigin.includes(origin)) setHeaders(reply.raw, oneOrigin(origin));
    done();
  });
}

/** Answers what browsers ask before they fetch, at any address. */
export function addPreflights(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method !== 'OPTIONS' || !(isPreflight(request) || request.raw.url === '*')) return done();
    sendOptions(request, reply);
  });
}

const isPreflight = ({ headers }: FastifyRequest) => headers['access-control-request-method'] !== undefined;

/** 204; a browser that asks before it fetches is told what it may send. */
export function sendOptions(request: FastifyRequest, reply: FastifyReply): void {
  if (isPreflight(request))
    reply.headers({
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': '*',
      'access-control-max-age': A_DAY,
    });
  reply.code(204).header('allow', METHODS).send();
}
