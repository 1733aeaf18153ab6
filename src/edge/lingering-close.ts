// A server that closes a connection over bytes it has not read makes TCP send a reset, and the reset can destroy the
// last answer before the client reads it. RFC 9112 (9.6) therefore asks to close in two steps: end our side, go on
// reading for a while, then close. Node's HTTP server calls `destroySoon` after a last response, which is one step.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const LINGER_MS = 1000;
const lingering = new WeakSet<Duplex>();

/** Whether the last answer of a connection was given: what still arrives is read and ignored. */
export const isLingering = (socket: Duplex): boolean => lingering.has(socket);

export function closeInTwoSteps(socket: Socket): void {
  socket.destroySoon = () => {
    if (lingering.has(socket)) return;
    lingering.add(socket);
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  };
}
