// The pace of requests to one host: the rate starts low, grows with each response, and halves when the host is overloaded.
import { setTimeout as delay } from 'node:timers/promises';

/** Requests per second. */
const LOWEST_RATE = 0.5;
/** Growth per response, before and after the first sign of overload. */
const FIRST_GROWTH = 1.1;
const LATER_GROWTH = 1.02;

export interface RateOptions {
  /** The most requests per second. */
  readonly rate: number;
  /** Requests per second at the start. */
  readonly startRate: number;
}

/** Lets requests through one by one, at the current rate. */
export function createPace({ rate: most, startRate }: RateOptions, signal: AbortSignal) {
  let rate = Math.min(startRate, most);
  let growth = FIRST_GROWTH;
  let nextTurn = 0;
  let pausedUntil = 0;
  let slowedAt = 0;

  return {
    /** Requests per second. */
    rate: () => rate,
    /** Waits until the next request may be sent; the time at which that is. */
    async turn(): Promise<number> {
      const at = Math.max(nextTurn, performance.now());
      nextTurn = at + 1000 / rate;
      for (;;) {
        signal.throwIfAborted();
        const left = Math.max(at, pausedUntil) - performance.now();
        if (left <= 0) return performance.now();
        await delay(left, undefined, { signal });
      }
    },
    responded(): void {
      rate = Math.min(most, rate * growth);
    },
    overloaded(sentAt: number): void {
      // Requests that were under way together count once.
      if (sentAt < slowedAt) return;
      slowedAt = performance.now();
      rate = Math.max(Math.min(LOWEST_RATE, most), rate / 2);
      growth = LATER_GROWTH;
    },
    /** Lets nothing through for so many milliseconds. */
    pause(milliseconds: number): void {
      pausedUntil = Math.max(pausedUntil, performance.now() + milliseconds);
    },
  };
}
