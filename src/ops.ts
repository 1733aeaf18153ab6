// For whoever runs it: whether the process lives, and whether it can serve.
import type { FastifyPluginCallback } from 'fastify';
import { PROBE } from './operations.ts';
import type { Responder } from './respond.ts';
import type { Reader } from './stores/store.ts';
import { readOnlyRoute } from './variants/reading.ts';

export type Health = ReturnType<typeof createHealth>;

export function createHealth(store: Pick<Reader, 'fault'>) {
  let draining = false;
  return {
    draining: () => draining,
    drain() {
      draining = true;
    },
    /** Why requests should go elsewhere; undefined when they may come. */
    async unready(): Promise<string | undefined> {
      return draining ? 'The server is stopping.' : await store.fault();
    },
  };
}

export const probes: FastifyPluginCallback<{ health: Health; respond: Responder }> = (app, { health, respond }, done) => {
  const route = { host: undefined, operation: PROBE };
  readOnlyRoute(app, respond, {
    ...route,
    url: '/healthz',
    handler(request, reply) {
      reply.hijack();
      respond.json(request.raw, reply.raw, PROBE, 200, { status: 'ok' });
    },
  });
  readOnlyRoute(app, respond, {
    ...route,
    url: '/readyz',
    async handler(request, reply) {
      reply.hijack();
      const reason = await health.unready();
      if (reason === undefined) respond.json(request.raw, reply.raw, PROBE, 200, { status: 'ready' });
      else respond.json(request.raw, reply.raw, PROBE, 503, { status: 'not ready', reason });
    },
  });
  done();
};
