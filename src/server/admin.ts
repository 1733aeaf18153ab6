// The admin port: /healthz, /readyz and /metrics, for the operator's programs, as a small app of its own.
import { isIP } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { RequestError, sendFailure } from '../api/http/errors.ts';
import { addHeaders, jsonHeaders } from '../api/http/headers.ts';
import { createServer } from '../api/http/node-http.ts';
import { type Observer, PROBE } from '../api/http/observations.ts';
import type { Config } from '../config/settings.ts';
import { allowHalfOpen } from './edge/undocumented.ts';
import { type Health, probes } from './probes.ts';
import { failureCode, observeResponses, refuseOthers } from './responses.ts';

interface AdminOptions {
  readonly config: Pick<Config, 'adminHost' | 'adminPort'>;
  readonly health: () => Promise<Health>;
  readonly metrics: () => Promise<{ readonly type: string; readonly text: string }>;
  readonly observe: Observer;
}

export interface Admin {
  readonly url: string;
  close(): Promise<void>;
}

/** Opens the admin port; undefined if ADMIN_PORT is not set. */
export async function openAdmin(options: AdminOptions): Promise<Admin | undefined> {
  const { adminHost: host, adminPort: port } = options.config;
  if (port === undefined) return undefined;
  const app = createAdminApp(options);
  const url = await app.listen({ host, port });
  return { url, close: () => app.close() };
}

function createAdminApp({ config, health, metrics, observe }: AdminOptions): FastifyInstance {
  const app = Fastify({
    serverFactory: (route) => allowHalfOpen(createServer({ requireHostHeader: false }, route)),
    // Connections without a request would stay.
    forceCloseConnections: true,
  });
  addHeaders(app, { 'cache-control': 'no-store', ...jsonHeaders([]) });
  // Unknown addresses are probes as well: the access log has no line of this port.
  observeResponses(app, (event) => observe('status' in event ? { ...event, operation: PROBE } : event));
  app.setErrorHandler((error, { raw }, reply) => {
    if (error instanceof RequestError) return sendFailure(reply, error.code);
    observe({ type: 'request-failed', request: raw, error });
    return sendFailure(reply, failureCode(error));
  });
  app.addHook('onRequest', (request, reply, done) => {
    request.raw.arrived = performance.now();
    // Node loses what follows a wish to upgrade, so the client has to ask again on another connection.
    if (request.headers.upgrade !== undefined) reply.header('connection', 'close');
    if (isForUs(request.headers.host, config)) done();
    else refuse(reply);
  });
  refuseOthers(app);
  app.register(probes, { health, saysWhy: true });
  app.get('/metrics', async (_request, reply) => {
    const { type, text } = await metrics();
    return reply.type(type).send(text);
  });
  return app;
}

/**
 * A web page can make its own name resolve to this address, and would then read what we answer (DNS rebinding). Such a
 * name has a dot; those of containers and `localhost` have none. Programs may leave out the header, browsers do not.
 */
function isForUs(host: string | undefined, { adminHost }: Pick<Config, 'adminHost'>): boolean {
  if (host === undefined) return true;
  const name = host.replace(/:\d*$/, '').toLowerCase();
  return isIP(name.replace(/^\[|\]$/g, '')) > 0 || !name.includes('.') || name === adminHost.toLowerCase();
}

const refuse = (reply: FastifyReply) =>
  reply.code(421).send({
    error: 'The admin port answers requests to an IP address, a name without a dot, or ADMIN_HOST.',
  });
