// CORS for a list of origins, and OPTIONS requests. With `*` the headers are the same for everybody and are among
// jsonHeaders().
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config/config.ts';
import { type Headers, METHODS, oneOrigin, setHeaders } from '../http/answer.ts';

const A_DAY = '86400';

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
  app.addHook('onRequest', (request, reply, done) => {
    // On the response itself, since answers may be written past the reply.
    setHeaders(reply.raw, originHeaders(config, request.raw));
    done();
  });
}

/** Whether a browser asks before it fetches, at whatever address. */
export const isPreflight = ({ headers }: FastifyRequest) =>
  headers['access-control-request-method'] !== undefined;

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
