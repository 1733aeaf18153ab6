// What every response has in common: it is counted and logged, and errors have a code.
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { type ErrorCode, RequestError, sendFailure } from '../api/http/errors.ts';
import { findOperation, type Observer, PREFLIGHT } from '../api/http/observations.ts';
import { isDataFault } from '../stores/errors.ts';
import { refuseOtherMethods } from './edge/hooks.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

/** Responses are counted and logged when they are handed to Node, and streams when they begin; lookups do it themselves. */
export function observeResponses(app: FastifyInstance, observe: Observer): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    function note(): void {
      const bytes = request.method === 'HEAD' ? 0 : Number(reply.getHeader('content-length') ?? 0);
      const operation = request.method === 'OPTIONS' ? PREFLIGHT : findOperation(request);
      observe({ type: 'response', request: request.raw, operation, status: reply.statusCode, bytes });
    }
    if (payload instanceof Readable) note();
    // If its headers cannot be written, an error is sent in its place, and passes here again.
    else if (reply.raw.listenerCount('prefinish') === 0) reply.raw.once('prefinish', note);
    done();
  });
}

export function sendErrors(app: FastifyInstance, { observe }: Pick<Telemetry, 'observe'>): void {
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof RequestError) return void sendFailure(reply, error.code);
    observe({ type: 'request-failed', request: request.raw, error });
    // The log names it, so the client may ask about it.
    reply.header('x-request-id', request.id);
    sendFailure(reply, failureCode(error));
  });
}

/** What the client is told of an error that it did not cause. */
export const failureCode = (error: unknown): ErrorCode => (isDataFault(error) ? 'NOT_READY' : 'INTERNAL');

/** Whatever has no route: other methods, and other addresses. */
export function refuseOthers(app: FastifyInstance): void {
  refuseOtherMethods(app);
  app.setNotFoundHandler((_request, reply) => void sendFailure(reply, 'ROUTE_NOT_FOUND'));
}
