// Known addresses answer other methods than GET and HEAD with 405 and Allow; unknown ones are 404 whatever the method.
import { METHODS as NODE_METHODS } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { sendFailure } from '../http/replies.ts';
import { sendOptions } from './cors.ts';

const OTHER_METHODS = NODE_METHODS.filter((method) => !['GET', 'HEAD', 'CONNECT'].includes(method));

export function refuseOtherMethods(app: FastifyInstance): void {
  for (const method of OTHER_METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  app.addHook('onRoute', ({ method, url, constraints, config }) => {
    if (method !== 'GET') return;
    app.route({
      method: OTHER_METHODS,
      url,
      ...(constraints && { constraints }),
      ...(config && { config }),
      schema: { hide: true },
      // Before a body would be parsed.
      onRequest(request, reply) {
        if (request.method === 'OPTIONS') sendOptions(request, reply);
        else sendFailure(reply, 'METHOD_NOT_ALLOWED');
      },
      handler() {},
    });
  });
}
