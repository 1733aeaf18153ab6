// What is owed on a connection: how many requests wait for their answers, and when the last answer has been written.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

const LATEST_REQUEST = Symbol('latest request');
const LATEST_RESPONSE = Symbol('latest response');
const AHEAD = Symbol('requests ahead');

type Connection = Duplex & {
  [LATEST_REQUEST]?: IncomingMessage | undefined;
  [LATEST_RESPONSE]?: ServerResponse | undefined;
  [AHEAD]?: number;
};

/** Returns how many requests have come since the connection last owed no answer. */
export function noteRequest(socket: Duplex, request: IncomingMessage): number {
  const connection: Connection = socket;
  connection[LATEST_REQUEST] = request;
  connection[AHEAD] = (isAnswered(connection[LATEST_RESPONSE]) ? 0 : (connection[AHEAD] ?? 0)) + 1;
  return connection[AHEAD];
}

export function noteResponse({ socket }: IncomingMessage, response: ServerResponse): void {
  (socket as Connection)[LATEST_RESPONSE] = response;
}

/** Whether the response was written to the system. Its connection is taken from it at the end. */
const isAnswered = (response: ServerResponse | undefined) =>
  response === undefined || (response.writableFinished && response.socket === null);

export const hasRequested = (socket: Duplex): boolean => (socket as Connection)[AHEAD] !== undefined;

/** Lets go of what was answered, which takes more memory than the connection. */
export function forgetAnswered(socket: Duplex): void {
  const connection: Connection = socket;
  connection[LATEST_REQUEST] = undefined;
  connection[LATEST_RESPONSE] = undefined;
}

/** Whether the bytes that arrive are still the body of a request that has its answer, or will have it. */
export const isWithinRequest = (socket: Duplex): boolean =>
  (socket as Connection)[LATEST_REQUEST]?.complete === false;

/** Calls back when every response owed on the connection has been written. */
export function whenAnswered(socket: Duplex, then: () => void): void {
  const owed = (socket as Connection)[LATEST_RESPONSE];
  if (isAnswered(owed)) then();
  else owed?.once('finish', then);
}

const ending = new WeakSet<Duplex>();

/** Runs `end` once, when every response owed on the connection has been written. */
export function afterResponses(socket: Duplex, end: () => void): void {
  if (ending.has(socket)) return;
  ending.add(socket);
  whenAnswered(socket, end);
}
