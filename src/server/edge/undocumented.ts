// What Node does not document and a server of 128 MB needs without a proxy. All of it is here or in api/http/undocumented.ts,
// each with what happens without it. undocumented.test.ts has a test for each that fails when Node changes it.
//
// Plain Fastify, and Fastify with all documented options (maxConnections, closeIdleConnections, the five time-outs,
// maxRequestsPerSocket, Connection: close), were attacked in the same way. 100 clients that pipeline kill both in 128 MB,
// and 400 kill both in 256 MB: every documented option acts after Node has parsed a whole read of 64 KB, with up to 1,450
// requests in it. Where they close over unread bytes, nginx answers 502 to half of the requests with a body of 5 MB.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { IncomingMessage as NodeRequest } from '../../api/http/node-http.ts';

/**
 * A client may end its side after its last request: Node would end ours before the response is ready. Without it, clients
 * like `nc` and some load balancers' probes get nothing.
 */
export function allowHalfOpen<S extends Server>(server: S): S {
  return Object.assign(server, { httpAllowHalfOpen: true });
}

/**
 * `close` of Node and of Fastify calls `closeIdleConnections`. That also destroys connections on which a client still reads a
 * response, and loses requests on their way. From now on it closes nothing. Without this, half of the busy clients that keep
 * their connections lose a response at each stop.
 */
export function takeOverIdleClose(server: Server): void {
  server.closeIdleConnections = () => {};
}

/**
 * Node calls `destroySoon` after a last response, and its own closes at once. A close over unread bytes makes TCP send a
 * reset, which can destroy the response before the client reads it: nginx answers 502 to requests with large bodies.
 */
export function replaceClose(socket: Socket, close: () => void): void {
  socket.destroySoon = close;
}

/**
 * A request in front of which Node's parser may stop, without a body. In the middle of a read, the parser stops only at an
 * upgrade. So a request that comes too early says that it is one. Without it, 100 clients that each pipeline 1,000 requests
 * kill the server.
 */
export abstract class StoppingRequest extends NodeRequest {
  protected abstract readonly isTooEarly: boolean;
  /** Whether its body is read and dropped, or else not read at all. */
  protected abstract readonly isDropped: boolean;
  protected abstract noteComplete(): void;

  get upgrade(): boolean {
    return this.isTooEarly;
  }

  /** Node sets what the headers say. Real upgrades are never made. */
  set upgrade(_wish: boolean) {}

  /**
   * Node pushes each chunk of a body and `null` at its end, and stops reading when told `false`. In one read there may be
   * 11,000 chunks of a byte, and 5 MB of Buffers for them. Without it, 20 clients with endless bodies kill the server.
   */
  override push(chunk: unknown): boolean {
    if (chunk !== null) return this.isDropped;
    this.noteComplete();
    return super.push(null);
  }
}

/**
 * Calls `end` when the parser has stopped at a request, or at CONNECT. Node has let go of the socket then. What else it would
 * do for it is done here: time-outs reach the server, and a response that waits for room goes on.
 */
export function onStop(
  server: Server,
  firstOwed: (socket: Socket) => ServerResponse | undefined,
  end: (socket: Socket) => void,
): void {
  function takeOver(_request: IncomingMessage, socket: Socket): void {
    socket.on('error', ignore).on('timeout', () => server.emit('timeout', socket));
    socket.on('drain', () => {
      const response = firstOwed(socket);
      if (response?.writableNeedDrain) response.emit('drain');
    });
    end(socket);
  }
  for (const event of ['upgrade', 'connect']) server.on(event, takeOver);
}

/** The connection is gone after an error. */
function ignore(): void {}

/**
 * Takes Node's parser off the socket, and reads on: `read` gets what arrives. Without it, 100 clients that send on behind a
 * last response kill the server, since each read is parsed.
 */
export function readUnparsed(socket: Socket, read: (bytes: Buffer) => void): void {
  const replace = () => socket.removeAllListeners('data').on('data', read);
  // Only with its own listener does Node start to read again what was paused.
  if (socket.isPaused()) socket.once('resume', replace);
  else replace();
  socket.resume();
}

/**
 * A request for bytes that are none: Node gives an error and the socket, but the rate limit and the log take requests. Node
 * makes requests with this constructor, and documents only that its class can be extended. Without it, both would need a
 * second kind of request.
 */
export const createEmptyRequest = (socket: Socket): IncomingMessage =>
  // It is null until Node's parser sets it.
  Object.assign(new NodeRequest(socket), { method: '' });
