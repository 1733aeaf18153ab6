// What is known of a connection: the request that came last, the response that is owed, and whether it is ending.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const LATEST = Symbol('latest request');
const OWED = Symbol('latest response');

type Known = Duplex & { [LATEST]?: IncomingMessage; [OWED]?: ServerResponse };

export function noteRequest(socket: Duplex, request: IncomingMessage): void {
  (socket as Known)[LATEST] = request;
}

export function noteResponse({ socket }: IncomingMessage, response: ServerResponse): void {
  (socket as Known)[OWED] = response;
}

/** Whether what comes on a connection is still the body of a request that was given its answer, or will be. */
export const isWithinRequest = (socket: Duplex): boolean => (socket as Known)[LATEST]?.complete === false;

const lastWord = new WeakSet<Duplex>();

/** Says a connection's last word when all that is owed on it has been said: at most one. */
export function afterAnswers(socket: Duplex, say: () => void): void {
  if (lastWord.has(socket)) return;
  lastWord.add(socket);
  const owed = (socket as Known)[OWED];
  if (owed === undefined || owed.writableFinished) say();
  else owed.once('finish', say);
}

// When a connection is closed over bytes that nobody has read, TCP resets it, and the client may lose the answer that
// stands before the end (RFC 9112, 9.6): so what goes on coming is read, and passed over.

const LONGEST_MS = 1000;
const lingering = new WeakSet<Duplex>();

/** Whether the last answer of a connection was given. */
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
