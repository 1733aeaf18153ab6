// Known addresses answer other methods than GET and HEAD with 405 and Allow; unknown ones are 404 whatever the method.
import { METHODS as NODE_METHODS } from 'node:http';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { errorResponses } from '../http/errors.ts';
import { sendFailure } from '../http/replies.ts';
import { sendOptions } from './cors.ts';

const OTHER_METHODS = NODE_METHODS.filter((method) => !['GET', 'HEAD', 'CONNECT'].includes(method));

const RESPONSES = { 204: Type.Null(), ...errorResponses('METHOD_NOT_ALLOWED') };

export function refuseOtherMethods(app: FastifyInstance): void {
  // No body is ever read, whatever the method.
  for (const method of OTHER_METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.addHook('onRoute', ({ method, url, constraints, config }) => {
    if (method !== 'GET') return;
    app.route({
      method: OTHER_METHODS,
      url,
      ...(constraints && { constraints }),
      ...(config && { config }),
      schema: { hide: true, response: RESPONSES },
      onRequest(request, reply) {
        if (request.method === 'OPTIONS') sendOptions(request, reply);
        else sendFailure(reply, 'METHOD_NOT_ALLOWED');
      },
      handler() {},
    });
  });
}
