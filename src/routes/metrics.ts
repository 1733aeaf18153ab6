// `/metrics`, for Prometheus.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { PROBE } from '../http/operations.ts';
import { sendFresh } from '../http/replies.ts';

/** The text of all metrics and its format. */
export type Metrics = () => Promise<{ type: string; text: string }>;

export const metricsRoute: FastifyPluginCallbackTypebox<{ metrics: Metrics }> = (app, { metrics }, done) => {
  app.get(
    '/metrics',
    { config: { operation: PROBE }, schema: { hide: true, response: { 200: Type.String() } } },
    async (_request, reply) => {
      const { type, text } = await metrics();
      return sendFresh(reply, 200, text, type);
    },
  );
  done();
};
