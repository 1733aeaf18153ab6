// Where the server listens: at an address, on a unix socket, or on a socket that another program opened and handed over.
import { once } from 'node:events';
import { chmodSync, lstatSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/config.ts';

/** Where the listening socket comes from. */
export interface SocketOptions {
  /** Shares the port with other processes that do the same. */
  readonly reusePort?: boolean;
  /** A listening socket that this process inherited, as a file descriptor. */
  readonly inherited?: number | undefined;
}

/** As many new connections may wait as the system allows. With Node's 511, thousands at once lose theirs for seconds. */
const BACKLOG = 65_535;

/** The first socket that systemd hands over. */
const FIRST_INHERITED = 3;

/** The listening socket that this process inherited, in systemd's way; workers have it from their supervisor. */
export function inheritedSocket(
  { LISTEN_FDS = '0', LISTEN_PID }: Record<string, string | undefined>,
  processIds: readonly number[],
): number | undefined {
  return Number(LISTEN_FDS) >= 1 && processIds.includes(Number(LISTEN_PID)) ? FIRST_INHERITED : undefined;
}

/** Resolves to the address as a URL. */
export async function listen(
  app: Pick<FastifyInstance, 'listen' | 'server'>,
  { host, port, socketMode }: Pick<Config, 'host' | 'port' | 'socketMode'>,
  { inherited, reusePort = false }: SocketOptions,
): Promise<string> {
  // Fastify hands options to Node as they are, but its type lacks `fd` and `reusePort`.
  if (inherited !== undefined) {
    // Without a host, Fastify would listen on localhost as well.
    const options = { fd: inherited, host: '127.0.0.1', backlog: BACKLOG };
    const url = await app.listen(options);
    return socketUrl(app) ?? url;
  }
  if (!host.startsWith('/')) {
    const options = { host, port, backlog: BACKLOG, reusePort };
    return app.listen(options);
  }
  await removeAbandoned(host);
  await app.listen({ path: host, backlog: BACKLOG });
  chmodSync(host, socketMode);
  return `unix:${host}`;
}

function socketUrl({ server }: Pick<FastifyInstance, 'server'>): string | undefined {
  const address = server.address();
  return typeof address === 'string' ? `unix:${address}` : undefined;
}

/** Removes the file of a socket on which nobody listens any more, which a server that crashed has left behind. */
async function removeAbandoned(path: string): Promise<void> {
  try {
    if (!lstatSync(path).isSocket()) return;
    const socket = connect(path);
    await once(socket, 'connect');
    socket.destroy();
  } catch (error) {
    // Otherwise listening fails, and says why.
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') rmSync(path, { force: true });
  }
}
