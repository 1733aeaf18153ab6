// Requests that wait for their turn, and are repeated when they fail for a reason that may pass.
import { setTimeout as delay } from 'node:timers/promises';
import { RequestError } from './http-client.ts';
import type { Pace } from './request-pace.ts';
import { retryAfter } from './retry-after.ts';

/** Why a request is worth repeating, and after how many milliseconds at least. */
export interface Retry {
  readonly reason: string;
  readonly wait: number;
}

export interface RetryOptions {
  /** How often a failed request is repeated. */
  readonly retries: number;
  readonly pace: Pace;
  readonly signal: AbortSignal;
}

export class SiteError extends Error {
  override name = 'SiteError';
  /** Whether the site as a whole seems to be down, not just this response. */
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

export const MAX_REDIRECTS = 5;
const MAX_PAUSE = 60_000;
const FIRST_BACKOFF = 500;
const MAX_BACKOFF = 30_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const RETRYABLE = new Set([408, 421, 425, 429, 500, 502, 503, 504]);
const OVERLOADED = new Set([408, 429, 502, 503, 504]);

interface Response {
  readonly status: number;
  readonly headers: { readonly location?: string | undefined; readonly 'retry-after'?: string | undefined };
}

/** Where a response redirects to; undefined if it does not. */
export const redirection = ({ status, headers }: Response): string | undefined =>
  REDIRECTS.has(status) ? headers.location : undefined;

/** Whether a response is worth asking for again. */
export function retryFor({ status, headers }: Response): Retry | undefined {
  if (!RETRYABLE.has(status)) return undefined;
  return { reason: `status ${status}`, wait: retryAfter(headers['retry-after'], Date.now()) };
}

/** One request when its turn has come; the pace learns how it went. */
export async function sendInTurn<T extends Response>(pace: Pace, send: () => Promise<T>): Promise<T> {
  const sentAt = await pace.turn();
  try {
    const response = await send();
    if (OVERLOADED.has(response.status)) pace.overloaded(sentAt);
    else pace.responded(sentAt);
    return response;
  } catch (error) {
    if (error instanceof RequestError && error.retryable) pace.overloaded(sentAt);
    throw error;
  }
}

/** Tries until there is something else than a reason to try again. */
export async function repeat<T extends object>(
  tryOnce: () => Promise<T | Retry>,
  { retries, pace, signal }: RetryOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const result = await tryOnce();
    if (!('reason' in result)) return result;
    if (result.wait > MAX_PAUSE)
      throw new SiteClosed(`the site asks for a pause of ${Math.ceil(result.wait / 1000)} s`);
    if (attempt > retries) throw new SiteError(`${result.reason} (attempt ${attempt} of ${attempt})`, true);
    pace.pause(result.wait);
    await delay(Math.max(result.wait, backoff(attempt)), undefined, { signal });
  }
}

/** Milliseconds to wait: more with each attempt, and different for each request. */
const backoff = (attempt: number) =>
  Math.random() * Math.min(FIRST_BACKOFF * 2 ** (attempt - 1), MAX_BACKOFF);
