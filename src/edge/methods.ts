// Addresses can only be read: known ones answer other methods than GET and HEAD with 405 and Allow, unknown ones with 404.
// All are routed as GET. A route for each of Node's 33 other methods would do the same, and takes 50 ms of every start.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { METHODS } from '../http/answer.ts';
import { sendFailure } from '../http/errors.ts';

const A_DAY = '86400';

/** Notes the method, and has it routed as GET; no body is ever read. */
export function routeAsRead(request: IncomingMessage): void {
  if (request.method === 'GET' || request.method === 'HEAD') return;
  request.otherMethod = request.method;
  request.method = 'GET';
}

/** OPTIONS is also answered for unknown addresses if a browser asks before it fetches. */
export function refuseOtherMethods(app: FastifyInstance): void {
  app.addHook('preValidation', (request, reply, done) => {
    const { otherMethod, url } = request.raw;
    if (otherMethod === 'OPTIONS' && (!request.is404 || isPreflight(request) || url === '*'))
      sendOptions(request, reply);
    else if (otherMethod !== undefined && !request.is404) sendFailure(reply, 'METHOD_NOT_ALLOWED');
    else done();
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
