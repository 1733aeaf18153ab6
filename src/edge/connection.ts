// What is owed on a connection, so that a refusal written to the socket itself comes after the answers before it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

const LATEST_REQUEST = Symbol('latest request');
const LATEST_RESPONSE = Symbol('latest response');

type Connection = Duplex & { [LATEST_REQUEST]?: IncomingMessage; [LATEST_RESPONSE]?: ServerResponse };

export function noteRequest(socket: Duplex, request: IncomingMessage): void {
  (socket as Connection)[LATEST_REQUEST] = request;
}

export function noteResponse({ socket }: IncomingMessage, response: ServerResponse): void {
  (socket as Connection)[LATEST_RESPONSE] = response;
}

/** Whether the bytes that arrive are still the body of a request that has its answer, or will have it. */
export const isWithinRequest = (socket: Duplex): boolean =>
  (socket as Connection)[LATEST_REQUEST]?.complete === false;

const ending = new WeakSet<Duplex>();

/** Runs `end` once, when every response owed on the connection has been written. */
export function afterResponses(socket: Duplex, end: () => void): void {
  if (ending.has(socket)) return;
  ending.add(socket);
  const owed = (socket as Connection)[LATEST_RESPONSE];
  if (owed === undefined || owed.writableFinished) end();
  else owed.once('finish', end);
}
