// Where the server listens: at an address, on a unix socket, or on a socket that another program opened and handed over.

import { once } from 'node:events';
import { chmodSync, lstatSync, rmSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { ConfigError } from '../config/setting-values.ts';
import type { Config } from '../config/settings.ts';
import { errorCode } from '../records/thrown.ts';

/** Options of Node's `listen` that Fastify's type lacks: an inherited socket, or one that others may open as well. */
export interface SocketOptions {
  readonly fd?: number;
  readonly reusePort?: boolean;
}

/** As many new connections may wait as the system allows. With Node's 511, thousands at once lose theirs for seconds. */
const BACKLOG = 65_535;

/** The first socket that systemd hands over. */
const FIRST_INHERITED = 3;

/** The listening socket that one of these processes inherited, in systemd's way. */
export function inheritedSocket(
  { LISTEN_FDS = '0', LISTEN_PID }: Record<string, string | undefined>,
  processIds: readonly number[],
): SocketOptions | undefined {
  const isOurs = Number(LISTEN_FDS) >= 1 && processIds.includes(Number(LISTEN_PID));
  return isOurs ? { fd: FIRST_INHERITED } : undefined;
}

export async function listen(
  app: Pick<FastifyInstance, 'listen' | 'server'>,
  { host, port }: Pick<Config, 'host' | 'port'>,
  socket: SocketOptions = {},
): Promise<string> {
  const isPath = host.startsWith('/') && socket.fd === undefined;
  if (isPath) await removeAbandoned(host);
  // With a descriptor the host means nothing, but without one Fastify would listen on localhost as well.
  const where = isPath ? { path: host } : { host: socket.fd === undefined ? host : '127.0.0.1', port };
  const listening = app.listen({ ...where, ...socket, backlog: BACKLOG });
  const url = await (socket.fd === undefined ? listening : listening.catch(refuseInherited));
  // A proxy of the same group may connect.
  if (isPath) chmodSync(host, 0o660);
  const address = app.server.address();
  return typeof address === 'string' ? `unix:${address}` : url;
}

function refuseInherited(error: unknown): never {
  throw new ConfigError([
    `LISTEN_FDS says that descriptor ${FIRST_INHERITED} is a listening socket, and it is none (${errorCode(error)}): pass the socket, or start without LISTEN_FDS`,
  ]);
}

/**
 * Accepts the connections that wait in the system's queue: closing the port would drop them. In each turn of the event loop
 * one is accepted. On a busy machine 288 of 400 clients were lost.
 */
export async function acceptWaiting(server: Server, milliseconds: number): Promise<void> {
  const end = performance.now() + milliseconds;
  let hasCome = false;
  const note = () => {
    hasCome = true;
  };
  server.on('connection', note);
  do {
    hasCome = false;
    await nextTurn();
  } while (hasCome && performance.now() < end);
  server.off('connection', note);
}

/** Removes the file of a socket that a server which crashed has left behind. */
async function removeAbandoned(path: string): Promise<void> {
  try {
    if (!lstatSync(path).isSocket()) return;
    const socket = connect(path);
    await once(socket, 'connect');
    socket.destroy();
  } catch (error) {
    // Otherwise listening fails, and says why.
    if (errorCode(error) === 'ECONNREFUSED') rmSync(path, { force: true });
  }
}
