// For whoever runs it: whether the process lives, and whether it can serve.
import type { FastifyPluginCallback } from 'fastify';
import type { Config } from '../config/config.ts';
import { noteResponse } from '../edge/connection.ts';
import { createServer } from '../http/node-http.ts';
import { type Responder, TimedRequest } from '../http/respond.ts';
import type { Reader } from '../stores/store.ts';
import { PROBE, RECEIVED_OVER } from '../telemetry/operations.ts';
import { asRead, createRouter, readOnlyRoute } from './router.ts';

type Readiness = Pick<Health, 'unready'>;

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

interface AdminOptions {
  readonly config: Config;
  readonly health: Readiness;
  readonly respond: Responder;
  readonly metrics: Metrics;
}

/** The operator's own port: probes again, and the metrics. */
export function buildAdmin({ config, health, respond, metrics }: AdminOptions) {
  const admin = createRouter({
    config,
    respond,
    serverFactory: (route) =>
      createServer({ IncomingMessage: TimedRequest, requireHostHeader: false }, (request, response) => {
        noteResponse(request, response);
        route(asRead(request), response);
      }),
  });
  admin.register(probes, { health, respond });
  readOnlyRoute(admin, respond, {
    url: '/metrics',
    host: undefined,
    operation: PROBE,
    async handler(request, reply) {
      const { type, text } = await metrics();
      reply.hijack();
      respond.text(request.raw, reply.raw, PROBE, type, text);
    },
  });
  return admin;
}

/** What Prometheus is told, and in which of its formats. */
export type Metrics = () => Promise<{ type: string; text: string }>;

export const probes: FastifyPluginCallback<{ health: Readiness; respond: Responder }> = (
  app,
  { health, respond },
  done,
) => {
  const route = { host: undefined, operation: PROBE };
  readOnlyRoute(app, respond, {
    ...route,
    url: '/healthz',
    handler(request, reply) {
      reply.hijack();
      reply.raw.setHeader(RECEIVED_OVER, request.raw.httpVersion);
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
