// CORS for a list of origins. With `*` they are the same for all, and are among jsonHeaders().
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/config.ts';
import { type Headers, oneOrigin, setHeaders } from '../http/headers.ts';

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
