// Whether the process lives, and whether it can serve: the state, and the probes that ask for it.

import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { FastifyReply } from 'fastify';
import { JSON_TYPE, RECEIVED_OVER } from '../api/http/headers.ts';
import { PROBE } from '../api/http/observations.ts';
import type { Reader } from '../stores/reader.ts';
import { createFaultWatch, type ResponseTotals } from './telemetry/data-faults.ts';

export interface Health {
  /** Why requests should go elsewhere; undefined when they may come. */
  readonly unready?: string | undefined;
  /** What an operator should see although requests are answered, such as why newer data is not served. */
  readonly warning?: string | undefined;
}

/** Whether the server can serve: not while it stops, and not while its data cannot be read. */
export function createHealth(
  store: Pick<Reader, 'fault' | 'waiting' | 'warning'>,
  totals: () => ResponseTotals,
) {
  const findFaults = createFaultWatch(totals);
  const state = { isDraining: false };
  return {
    state,
    drain() {
      state.isDraining = true;
    },
    async find(): Promise<Health> {
      const faults = findFaults();
      return {
        unready: state.isDraining ? 'The server is stopping.' : ((await store.fault()) ?? faults.unready),
        warning: store.waiting?.() ?? store.warning?.() ?? faults.warning,
      };
    },
  };
}

interface ProbeOptions {
  readonly health: () => Promise<Health>;
  /** On the admin port only: reasons may name files and hosts. */
  readonly saysWhy: boolean;
}

const Alive = Type.Object({ status: Type.Literal('ok') });
const Ready = Type.Object({ status: Type.Literal('ready'), warning: Type.Optional(Type.String()) });
const NotReady = Type.Object({ status: Type.Literal('not ready'), reason: Type.Optional(Type.String()) });

export const probes: FastifyPluginCallbackTypebox<ProbeOptions> = (app, { health, saysWhy }, done) => {
  app.get(
    '/healthz',
    { config: { operation: PROBE }, schema: { hide: true, response: { 200: Alive } } },
    (request, reply) => {
      reply.header(RECEIVED_OVER, request.raw.httpVersion);
      sendUncached(reply, 200, { status: 'ok' });
    },
  );

  app.get(
    '/readyz',
    { config: { operation: PROBE }, schema: { hide: true, response: { 200: Ready, 503: NotReady } } },
    async (_request, reply) => {
      const { unready, warning } = await health();
      return unready === undefined
        ? sendUncached(reply, 200, { status: 'ready', ...(saysWhy && { warning }) })
        : sendUncached(reply, 503, { status: 'not ready', ...(saysWhy && { reason: unready }) });
    },
  );
  done();
};

/** For what is true at this moment only. */
function sendUncached(reply: FastifyReply, status: number, body: object): FastifyReply {
  if (status === 503) reply.header('retry-after', '1');
  return reply.code(status).type(JSON_TYPE).header('cache-control', 'no-store').send(JSON.stringify(body));
}
