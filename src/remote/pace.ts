// The pace of requests to one host: the rate starts low, grows with each response, and halves when the host is overloaded.
import { setTimeout as delay } from 'node:timers/promises';

/** Requests per second. */
const START_RATE = 10;
const LOWEST_RATE = 0.5;
/** Growth per response, before and after the first sign of overload. */
const FIRST_GROWTH = 1.1;
const LATER_GROWTH = 1.02;

export interface RateOptions {
  /** The most requests per second. */
  readonly rate: number;
  /** Requests per second at the start; 10 if it is not given. */
  readonly startRate?: number;
}

/** Requests per second. */
export function createRequestRate({ rate: most, startRate = START_RATE }: RateOptions) {
  let rate = Math.min(startRate, most);
  let growth = FIRST_GROWTH;

  return {
    current: () => rate,
    responded(): void {
      rate = Math.min(most, rate * growth);
    },
    overloaded(): void {
      rate = Math.max(Math.min(LOWEST_RATE, most), rate / 2);
      growth = LATER_GROWTH;
    },
  };
}

export type Pace = ReturnType<typeof createPace>;

/** Lets requests through one by one, at the current rate. */
export function createPace(options: RateOptions, signal: AbortSignal) {
  const rate = createRequestRate(options);
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
    responded: rate.responded,
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
