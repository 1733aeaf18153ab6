// Who the client is: forwarding headers are believed from trusted proxies only.

import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';
import type { Config } from '../../config/settings.ts';

export type Clients = ReturnType<typeof createClients>;

const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

export function createClients({ trustProxy, host }: Pick<Config, 'trustProxy' | 'host'>) {
  const trusts = proxyAddr.compile(trustProxy);
  // Clients of a unix socket are on this machine, and have no address.
  const unknown = host.startsWith('/') ? '127.0.0.1' : '';
  const remoteAddress = ({ socket }: IncomingMessage) => socket.remoteAddress ?? unknown;
  const fromProxy = (request: IncomingMessage) => trusts(remoteAddress(request), 0);
  const run = Date.now().toString(36);
  let made = 0;

  return {
    /** The nearest address that is not a trusted proxy's; if a proxy names something else, the proxy's own. */
    findClientAddress(request: IncomingMessage): string {
      const remote = remoteAddress(request);
      if (trustProxy.length === 0 || remote === '') return remote;
      // proxy-addr reads nothing else of a request.
      const hops = { socket: { remoteAddress: remote }, headers: request.headers } as IncomingMessage;
      return proxyAddr.all(hops, trusts).findLast((hop) => isIP(hop) > 0) ?? remote;
    },

    findProtocol(request: IncomingMessage): 'http' | 'https' {
      const said = fromProxy(request) && request.headers['x-forwarded-proto'];
      // Each proxy appends its own value; the last one is from the proxy we trust.
      return said && String(said).split(',').at(-1)?.trim() === 'https' ? 'https' : 'http';
    },

    /** The proxy's id for the request, or one of ours; the same in every log line. */
    findRequestId(request: IncomingMessage): string {
      if (request.requestId !== undefined) return request.requestId;
      const said = fromProxy(request) ? request.headers['x-request-id'] : undefined;
      request.requestId =
        typeof said === 'string' && REQUEST_ID.test(said) ? said : `${run}-${(++made).toString(36)}`;
      return request.requestId;
    },
  };
}
