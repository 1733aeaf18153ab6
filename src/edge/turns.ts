// Bounds how long requests are handled in one turn of the event loop, since timers, the admin port and one new connection
// come once in it: when 2,000 connections each sent eight requests at once, a turn took 2.4 s. What is left waits here for
// the next turns, and its age tells of overload. Up to 400 or so busy connections nothing waits.
import type { RequestListener } from 'node:http';

const TURN_MS = 20;

export function createTurns(handle: RequestListener): RequestListener {
  const waiting = new Set<Parameters<RequestListener>>();
  /** When the turn is over; 0 before its first request. */
  let ends = 0;

  function startNext(): void {
    ends = performance.now() + TURN_MS;
    for (const exchange of waiting) {
      waiting.delete(exchange);
      handle(...exchange);
      if (performance.now() > ends) break;
    }
    if (waiting.size > 0) setImmediate(startNext);
    else ends = 0;
  }

  return (request, response) => {
    const now = performance.now();
    if (ends === 0) {
      ends = now + TURN_MS;
      setImmediate(startNext);
    }
    if (waiting.size === 0 && now < ends) handle(request, response);
    else waiting.add([request, response]);
  };
}
