// Requests that wait for their turn, and are repeated when they fail for a reason that may pass. The rate starts low, grows
// with each response, and halves when the site refuses.
import { setTimeout as delay } from 'node:timers/promises';
import { BodyTooLong, type HttpResponse, RequestError } from './http-client.ts';

/** A request that failed for good. */
export class SiteError extends Error {
  override name = 'SiteError';
  /** Whether the host as a whole seems to be down, not just this response. */
  readonly siteDown: boolean;
  constructor(message: string, siteDown: boolean) {
    super(message);
    this.siteDown = siteDown;
  }
}

/** The site asks for a longer pause than a run waits. */
export class SiteClosed extends Error {
  override name = 'SiteClosed';
}

/** After so many failures in a row a host counts as down. */
export const MAX_FAILURES = 20;
export const MAX_REDIRECTS = 5;
/** Requests per second. */
const START_RATE = 10;
const LOWEST_RATE = 0.5;
/** Growth per response, before and after the first sign of overload. */
const FIRST_GROWTH = 1.1;
const LATER_GROWTH = 1.02;
const MAX_PAUSE = 60_000;
const FIRST_BACKOFF = 500;
const MAX_BACKOFF = 30_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const RETRYABLE = new Set([408, 421, 425, 429, 500, 502, 503, 504]);
const OVERLOADED = new Set([408, 429, 502, 503, 504]);

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

/** One request when its turn has come; the pace learns how it went. */
export async function sendInTurn<Body>(
  pace: Pace,
  send: () => Promise<HttpResponse<Body>>,
): Promise<HttpResponse<Body>> {
  const sentAt = await pace.turn();
  try {
    const response = await send();
    if (OVERLOADED.has(response.status)) pace.overloaded(sentAt);
    else pace.responded();
    return response;
  } catch (error) {
    if (error instanceof RequestError && error.retryable) pace.overloaded(sentAt);
    throw error;
  }
}

export interface RetryOptions {
  /** How often a failed request is repeated. */
  readonly retries: number;
  readonly pace: Pace;
  readonly signal: AbortSignal;
}

/** Sends until there is a response that is not worth asking for again; `flawOf` says why a 200 is. */
export async function repeat<Body>(
  send: () => Promise<HttpResponse<Body>>,
  { retries, pace, signal }: RetryOptions,
  flawOf: (response: HttpResponse<Body>) => string | undefined = () => undefined,
): Promise<HttpResponse<Body>> {
  for (let attempt = 1; ; attempt++) {
    const result = await tryOnce(send, flawOf, signal);
    if ('status' in result) return result;
    if (result.wait > MAX_PAUSE)
      throw new SiteClosed(`the site asks for a pause of ${Math.ceil(result.wait / 1000)} s`);
    if (attempt > retries) throw new SiteError(`${result.reason} (attempt ${attempt} of ${attempt})`, true);
    pace.pause(result.wait);
    await delay(Math.max(result.wait, backoff(attempt)), undefined, { signal });
  }
}

/** The response; or why the request is worth repeating, and after how many milliseconds at least. */
async function tryOnce<Body>(
  send: () => Promise<HttpResponse<Body>>,
  flawOf: (response: HttpResponse<Body>) => string | undefined,
  signal: AbortSignal,
): Promise<HttpResponse<Body> | { reason: string; wait: number }> {
  try {
    const response = await send();
    const { status, headers } = response;
    if (RETRYABLE.has(status))
      return { reason: `status ${status}`, wait: retryAfter(headers['retry-after'], Date.now()) };
    const flaw = status === 200 ? flawOf(response) : undefined;
    return flaw === undefined ? response : { reason: flaw, wait: 0 };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    signal.throwIfAborted();
    if (error.retryable) return { reason: error.message, wait: 0 };
    throw new SiteError(error.message, !(error instanceof BodyTooLong));
  }
}

/** Whether a host that answers like this may answer every request so. */
export const isRefusal = (status: number) => status === 401 || status === 403;

/** Where a response redirects to; undefined if it does not. */
export const redirection = ({ status, headers }: HttpResponse<unknown>): string | undefined =>
  REDIRECTS.has(status) ? headers.location : undefined;

/** The milliseconds that Retry-After asks for; 0 without one. */
export function retryAfter(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  const wanted = /^\s*\d+\s*$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return wanted > 0 ? wanted : 0;
}

/** Milliseconds to wait: more with each attempt, and different for each request. */
const backoff = (attempt: number) =>
  Math.random() * Math.min(FIRST_BACKOFF * 2 ** (attempt - 1), MAX_BACKOFF);
