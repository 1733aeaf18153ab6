// Everything can only be read: any other method is answered 405 with Allow, whatever the address.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendFailure } from '../http/errors.ts';
import { METHODS } from '../http/headers.ts';

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
