// How fast the site is asked. The rate starts low, grows while the site responds as quickly as before, and falls when it
// gets slower or refuses.
import { setTimeout as delay } from 'node:timers/promises';

/** Requests per second. */
const START_RATE = 10;
const LOWEST_RATE = 0.5;
/** Growth per response, before and after the first sign of overload. */
const FIRST_GROWTH = 1.1;
const LATER_GROWTH = 1.02;
const SLOWDOWN = 0.95;

/** The average weighs about this many of the latest responses. */
const AVERAGED_RESPONSES = 8;
/** Responses are slow when they take twice as long as usual, and this many milliseconds more. */
const SLOW_FACTOR = 2;
const SLOW_MARGIN = 20;
/** How quickly a longer response time becomes the usual one: by half in about 350 responses. */
const USUAL_DRIFT = 0.002;

/** Requests per second, at most `maxRate`. */
export function createRequestRate(maxRate: number) {
  const start = Math.min(START_RATE, maxRate);
  let rate = start;
  let growth = FIRST_GROWTH;
  let average: number | undefined;
  let usual = Number.POSITIVE_INFINITY;

  return {
    current: () => rate,

    responded(milliseconds: number): void {
      average =
        average === undefined ? milliseconds : average + (milliseconds - average) / AVERAGED_RESPONSES;
      usual = Math.min(average, usual * (1 + USUAL_DRIFT));
      const slow = average > usual * SLOW_FACTOR + SLOW_MARGIN;
      // Slow responses alone never lower the rate below its start.
      rate = slow ? Math.max(Math.min(rate, start), rate * SLOWDOWN) : Math.min(maxRate, rate * growth);
    },

    overloaded(): void {
      rate = Math.max(Math.min(LOWEST_RATE, maxRate), rate / 2);
      growth = LATER_GROWTH;
    },
  };
}

export type Pace = ReturnType<typeof createPace>;

/** Lets requests through one by one, at the current rate. */
export function createPace(maxRate: number, signal: AbortSignal) {
  const rate = createRequestRate(maxRate);
  let nextTurn = 0;
  let pausedUntil = 0;
  let slowedAt = 0;

  return {
    /** Waits until the next request may be sent; the time at which that is. */
    async turn(): Promise<number> {
      const at = Math.max(nextTurn, performance.now());
      nextTurn = at + 1000 / rate.current();
      for (;;) {
        signal.throwIfAborted();
        const left = Math.max(at, pausedUntil) - performance.now();
        if (left <= 0) return performance.now();
        await delay(left, undefined, { signal });
      }
    },
    responded(sentAt: number): void {
      rate.responded(performance.now() - sentAt);
    },
    overloaded(sentAt: number): void {
      // Requests that were under way together count once.
      if (sentAt < slowedAt) return;
      slowedAt = performance.now();
      rate.overloaded();
    },
    /** Lets nothing through for so many milliseconds. */
    pause(milliseconds: number): void {
      pausedUntil = Math.max(pausedUntil, performance.now() + milliseconds);
    },
  };
}
