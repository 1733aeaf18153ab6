// The admin port: /healthz, /readyz and /metrics, for the operator's programs, as a small app of its own.
import { isIP } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { RequestError, sendFailure } from '../api/http/errors.ts';
import { addHeaders, jsonHeaders } from '../api/http/headers.ts';
import { type Observation, type Observer, PROBE } from '../api/http/observations.ts';
import type { Config } from '../config/settings.ts';
import { behindHttpServer, closeAllConnections } from './edge/http-server.ts';
import { type Health, probes } from './probes.ts';
import { failureCode, observeResponses, refuseOthers } from './responses.ts';

interface MetricsText {
  readonly type: string;
  readonly text: string;
}

interface AdminOptions {
  readonly config: Config;
  readonly health: () => Promise<Health>;
  readonly metrics: () => Promise<MetricsText>;
  readonly observe: Observer;
}

export interface Admin {
  readonly url: string;
  close(): Promise<void>;
}

/** More than probes and scrapers need. A client that reaches the port must not take the memory of those who ask for users. */
const MOST_CONNECTIONS = 50;
/** How often it closes connections that were accepted while the port closes. */
const CLOSING_MS = 50;
/** Making the text takes milliseconds of the time of lookups. */
const SHARED_MS = 1000;

/** Opens the admin port; undefined if ADMIN_PORT is not set. */
export async function openAdmin(options: AdminOptions): Promise<Admin | undefined> {
  const { adminHost: host, adminPort: port } = options.config;
  if (port === undefined) return undefined;
  const app = createAdminApp(options);
  const url = await app.listen({ host, port });
  return { url, close: () => closeApp(app) };
}

/** Programs that ask need no last answer. */
async function closeApp(app: FastifyInstance): Promise<void> {
  const closing = setInterval(closeAllConnections, CLOSING_MS, app.server);
  await app.close();
  clearInterval(closing);
}

function createAdminApp({ config, health, metrics, observe: observeAll }: AdminOptions): FastifyInstance {
  function observe(event: Observation): void {
    // The counters of connections are those of the public port.
    if (event.type === 'connection-refused' || event.type === 'connection-stalled') return;
    // Unknown addresses are probes as well: the access log has no line of this port.
    observeAll(event.type === 'response' ? { ...event, operation: PROBE } : event);
  }
  const app = Fastify(
    behindHttpServer({
      config: { ...config, corsOrigin: [], maxConnections: MOST_CONNECTIONS },
      state: { isDraining: false },
      observe,
    }),
  );
  addHeaders(app, { 'cache-control': 'no-store', ...jsonHeaders([]) });
  observeResponses(app, observe);
  app.setErrorHandler((error, { raw }, reply) => {
    if (error instanceof RequestError) return sendFailure(reply, error.code);
    observe({ type: 'request-failed', request: raw, error });
    return sendFailure(reply, failureCode(error));
  });
  app.addHook('onRequest', (request, reply, done) => {
    if (isForUs(request.headers.host, config)) done();
    else refuse(reply);
  });
  refuseOthers(app);
  app.register(probes, { health, saysWhy: true });
  const shared = shareForASecond(metrics);
  app.get('/metrics', async (_request, reply) => {
    const { made, isShared } = shared();
    const { type, text } = await made;
    // As caches say that a response was made for an earlier request.
    if (isShared) reply.header('age', '0');
    return reply.type(type).send(text);
  });
  return app;
}

/** One text for all who ask within a second, so that questions for it take little time from lookups. */
function shareForASecond(make: () => Promise<MetricsText>) {
  let last: { readonly at: number; readonly made: Promise<MetricsText> } | undefined;
  return function share() {
    const now = performance.now();
    if (last !== undefined && now - last.at < SHARED_MS) return { made: last.made, isShared: true };
    const made = make();
    last = { at: now, made };
    made.catch(() => {
      last = undefined;
    });
    return { made, isShared: false };
  };
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
