// The admin port: probes and metrics for the operator, for no browser.
import Fastify from 'fastify';
import type { Config } from '../config/config.ts';
import { createHttpServer } from '../edge/http-server.ts';
import { answerOtherMethods } from '../edge/methods.ts';
import { jsonHeaders } from '../http/headers.ts';
import type { Observer } from '../http/write-answer.ts';
import { type Metrics, metricsRoute } from '../routes/metrics.ts';
import { probes, type Readiness } from '../routes/probes.ts';
import {
  addErrorHandlers,
  addRequestChecks,
  addResponseHook,
  type FaultLogger,
  fastifyOptions,
} from './fastify.ts';

export interface AdminOptions extends Omit<Readiness, 'tellReasons'> {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly logFault: FaultLogger;
  readonly observe: Observer;
}

export function buildAdmin({ config, unready, waiting, metrics, logFault, observe }: AdminOptions) {
  const admin = Fastify({
    ...fastifyOptions({ ...config, corsOrigin: [] }),
    serverFactory: (route) =>
      createHttpServer(route, {
        config: { ...config, corsOrigin: [] },
        onError(error, response) {
          logFault(response.req, error);
          response.destroy();
        },
      }),
  });
  addErrorHandlers(admin, logFault);
  addRequestChecks(admin);
  addResponseHook(admin, jsonHeaders([]), observe);
  answerOtherMethods(admin);
  admin.register(probes, { unready, waiting, tellReasons: true });
  admin.register(metricsRoute, { metrics });
  return admin;
}
