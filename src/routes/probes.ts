// Probes: whether the process lives, and whether it can serve.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { PROBE, RECEIVED_OVER } from '../http/operations.ts';
import { sendFresh } from '../http/replies.ts';

export interface Readiness {
  /** Why requests should go elsewhere; undefined when they may come. */
  readonly unready: () => Promise<string | undefined>;
  /** Why newer data is not served, if there is any. */
  readonly waiting?: () => string | undefined;
  /** Whether to tell the reasons: they may name files and hosts, which are for the operator only. */
  readonly tellReasons: boolean;
}

const Alive = Type.Object({ status: Type.Literal('ok') });
const Ready = Type.Object({ status: Type.Literal('ready'), warning: Type.Optional(Type.String()) });
const NotReady = Type.Object({
  status: Type.Literal('not ready'),
  reason: Type.Optional(Type.String()),
});

export const probes: FastifyPluginCallbackTypebox<Readiness> = (
  app,
  { unready, waiting, tellReasons },
  done,
) => {
  app.get(
    '/healthz',
    { config: { operation: PROBE }, schema: { hide: true, response: { 200: Alive } } },
    (request, reply) => {
      reply.header(RECEIVED_OVER, request.raw.httpVersion);
      sendFresh(reply, 200, { status: 'ok' });
    },
  );

  app.get(
    '/readyz',
    { config: { operation: PROBE }, schema: { hide: true, response: { 200: Ready, 503: NotReady } } },
    async (_request, reply) => {
      const reason = await unready();
      const warning = waiting?.();
      if (reason !== undefined)
        sendFresh(reply, 503, { status: 'not ready', ...(tellReasons && { reason }) });
      else sendFresh(reply, 200, { status: 'ready', ...(tellReasons && warning && { warning }) });
      return reply;
    },
  );
  done();
};
