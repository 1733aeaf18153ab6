// The admin port: /healthz, /readyz and /metrics, for the operator's programs, on Node's HTTP server.
import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { isIP } from 'node:net';
import { type ErrorCode, FAILURES } from '../api/http/errors.ts';
import { type Headers, JSON_TYPE, jsonHeaders, METHODS } from '../api/http/headers.ts';
import { createServer } from '../api/http/node-http.ts';
import { type Observer, PROBE } from '../api/http/observations.ts';
import type { Config } from '../config/settings.ts';
import { allowHalfOpen } from './edge/undocumented.ts';

export interface Health {
  /** Why requests should go elsewhere; undefined when they may come. */
  readonly unready?: string | undefined;
  /** Why newer data is not served, if there is any. */
  readonly waiting?: string | undefined;
}

interface AdminOptions {
  readonly config: Pick<Config, 'adminHost' | 'adminPort'>;
  readonly health: () => Promise<Health>;
  readonly metrics: () => Promise<{ readonly type: string; readonly text: string }>;
  readonly observe: Observer;
}

interface AdminReply {
  readonly status: number;
  readonly body: string | Buffer;
  readonly type?: string;
  readonly headers?: Headers;
}

export interface Admin {
  readonly url: string;
  close(): Promise<void>;
}

/** Opens the admin port; undefined if ADMIN_PORT is not set. */
export async function openAdmin(options: AdminOptions): Promise<Admin | undefined> {
  const { adminHost: host, adminPort: port } = options.config;
  if (port === undefined) return undefined;
  const server = createAdminServer(options).listen({ host, port });
  await once(server, 'listening');
  const { address, port: bound } = server.address() as { address: string; port: number };
  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${bound}`,
    async close() {
      server.close();
      // Connections without a request would stay.
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function createAdminServer(options: AdminOptions): Server {
  const server = createServer({ requireHostHeader: false }, async (request, response) => {
    request.arrived = performance.now();
    const {
      status,
      body,
      type = JSON_TYPE,
      headers,
    } = await answer(request, options).catch((error) => {
      options.observe({ type: 'request-failed', request, error });
      return failure('INTERNAL');
    });
    const length = Buffer.byteLength(body);
    response.writeHead(status, {
      'content-type': type,
      'content-length': length,
      'cache-control': 'no-store',
      ...jsonHeaders([]),
      // Node loses what follows a wish to upgrade, so the client has to ask again on another connection.
      ...(request.headers.upgrade !== undefined && { connection: 'close' }),
      ...headers,
    });
    response.end(body);
    options.observe({ type: 'response', request, operation: PROBE, status, bytes: length });
  });
  return allowHalfOpen(server);
}

async function answer({ method, url, headers }: IncomingMessage, options: AdminOptions): Promise<AdminReply> {
  if (!isForUs(headers.host, options.config)) return refusal;
  const path = url?.split('?', 1)[0];
  if (path !== '/healthz' && path !== '/readyz' && path !== '/metrics') return failure('ROUTE_NOT_FOUND');
  if (method !== 'GET' && method !== 'HEAD')
    return { ...failure('METHOD_NOT_ALLOWED'), headers: { allow: METHODS } };
  if (path === '/healthz') return json(200, { status: 'ok' });
  if (path === '/readyz') return readiness(await options.health());
  const { type, text } = await options.metrics();
  return { status: 200, body: text, type };
}

const readiness = ({ unready, waiting }: Health): AdminReply =>
  unready === undefined
    ? json(200, { status: 'ready', warning: waiting })
    : { ...json(503, { status: 'not ready', reason: unready }), headers: { 'retry-after': '1' } };

const json = (status: number, body: object): AdminReply => ({ status, body: JSON.stringify(body) });
const failure = (code: ErrorCode): AdminReply => FAILURES[code];
const refusal = json(421, {
  error: 'The admin port answers requests to an IP address, a name without a dot, or ADMIN_HOST.',
});

/**
 * A web page can make its own name resolve to this address, and would then read what we answer (DNS rebinding). Such a
 * name has a dot; those of containers and `localhost` have none. Programs may leave out the header, browsers do not.
 */
function isForUs(host: string | undefined, { adminHost }: Pick<Config, 'adminHost'>): boolean {
  if (host === undefined) return true;
  const name = host.replace(/:\d*$/, '').toLowerCase();
  return isIP(name.replace(/^\[|\]$/g, '')) > 0 || !name.includes('.') || name === adminHost.toLowerCase();
}
