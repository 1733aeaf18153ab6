// Ends a connection without taking back what was said on it: when one is closed over bytes that nobody has read, TCP
// resets it, and the client may lose the answer that stands before the end (RFC 9112, 9.6).
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const LONGEST_MS = 1000;
const lingering = new WeakSet<Duplex>();

/** Whether the last answer of a connection was given: what comes now is read, and passed over. */
export const isLingering = (socket: Duplex): boolean => lingering.has(socket);

/** Node's HTTP server calls `destroySoon` after the last response; then the client is given time to end, too. */
export function letLinger(socket: Socket): void {
  socket.destroySoon = () => {
    if (lingering.has(socket)) return;
    lingering.add(socket);
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LONGEST_MS);
    socket.once('close', () => clearTimeout(timer));
  };
}
