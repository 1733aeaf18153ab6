// Other hosts, each asked at its pace: the rate starts low, grows with each response, and halves when the host is overloaded.
// A request that fails for a reason that may pass is repeated; after many failures in a row a host is not asked any more.

import type { LookupFunction } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createHttpClient,
  type HttpClient,
  type HttpClientOptions,
  type HttpRequest,
  type HttpResponse,
  SiteError,
} from './http-client.ts';

/** After this number of failures in a row a host counts as down. */
const MAX_FAILURES = 20;
const MAX_REDIRECTS = 5;
const MAX_PAUSE = 60_000;
const FIRST_BACKOFF = 500;
const MAX_BACKOFF = 30_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const OVERLOADED = new Set([408, 429, 502, 503, 504]);
const RETRYABLE = new Set([...OVERLOADED, 500]);

/** How many time-outs a request may take in all: 20 MB need 170 KB/s within the two minutes of the default. */
const TIMEOUTS_IN_ALL = 4;

/** Requests per second. */
const LOWEST_RATE = 0.5;
const START_RATE = 10;
/** Growth per response, before and after the first sign of overload. */
const FIRST_GROWTH = 1.1;
const LATER_GROWTH = 1.02;

/** How a run asks other hosts. */
interface HostOptions {
  /** The most requests per second. */
  readonly rate: number;
  /** Requests per second at the start. */
  readonly startRate?: number;
  /** Requests at a time to one host. */
  readonly concurrency: number;
  /** Milliseconds to wait for a host that sends nothing. A whole request may take four times as long. */
  readonly timeout: number;
  /** How often a failed request is repeated. */
  readonly retries: number;
  readonly userAgent: string;
  /** Stops waiting and sending. */
  readonly signal: AbortSignal;
}

/** What the options of a command say of them. */
export type HostFlags = Omit<HostOptions, 'userAgent' | 'signal'>;

type Send<Body> = (client: HttpClient) => Promise<HttpResponse<Body>>;
/** Throws if the response is not from this API. */
type Check<Body> = (response: HttpResponse<Body>) => void;

export type RemoteHosts = ReturnType<typeof createHosts>;

/** The hosts of one run. */
export function createHosts(options: HostOptions) {
  const known = new Map<string, ReturnType<typeof createHost>>();

  return {
    find(url: URL, lookup?: LookupFunction) {
      const host = known.get(url.origin) ?? createHost({ ...options, origin: url, lookup });
      known.set(url.origin, host);
      return host;
    },
    [Symbol.dispose](): void {
      for (const host of known.values()) host[Symbol.dispose]();
    },
  };
}

function createHost(options: HostOptions & Pick<HttpClientOptions, 'origin' | 'lookup'>) {
  const { origin, signal, retries, timeout } = options;
  const limit = timeout * TIMEOUTS_IN_ALL;
  const client = createHttpClient({ ...options, limit, connections: options.concurrency });
  const pace = createPace(options, signal);
  let failuresInRow = 0;
  let closed: SiteError | undefined;
  signal.addEventListener('abort', client.close, { once: true });

  /** A response that is not worth asking for again. */
  async function ask<Body>(send: Send<Body>, check: Check<Body> = () => {}): Promise<HttpResponse<Body>> {
    if (closed !== undefined) throw closed;
    try {
      const response = await repeat(send, check);
      count(isRefusal(response.status));
      return response;
    } catch (error) {
      if (error instanceof SiteError && error.kind === 'closed') closed = error;
      count(error instanceof SiteError && error.kind === 'site');
      throw error;
    }
  }

  function count(isFailure: boolean): void {
    failuresInRow = isFailure ? failuresInRow + 1 : 0;
    if (failuresInRow >= MAX_FAILURES)
      closed ??= new SiteError(`${MAX_FAILURES} requests to ${origin.host} failed in a row`, 'closed');
  }

  async function repeat<Body>(send: Send<Body>, check: Check<Body>): Promise<HttpResponse<Body>> {
    for (let attempt = 1; ; attempt++)
      try {
        return await sendPaced(client, pace, send, check);
      } catch (error) {
        signal.throwIfAborted();
        const wait = pauseAfter(error, attempt, retries);
        pace.pause(wait);
        await delay(Math.max(wait, backoff(attempt)), undefined, { signal });
      }
  }

  return {
    ask,
    [Symbol.dispose](): void {
      signal.removeEventListener('abort', client.close);
      client.close();
    },
  };
}

/** One request; the pace learns how it went. */
async function sendPaced<Body>(
  client: HttpClient,
  pace: ReturnType<typeof createPace>,
  send: Send<Body>,
  check: Check<Body>,
): Promise<HttpResponse<Body>> {
  const sentAt = await pace.waitForSlot();
  const response = await send(client).catch((error) => {
    if (error.kind === 'passing') pace.overloaded(sentAt);
    throw error;
  });
  const { status, headers } = response;
  if (OVERLOADED.has(status)) pace.overloaded(sentAt);
  else pace.responded();
  if (RETRYABLE.has(status))
    throw new SiteError(`status ${status}`, 'passing', retryAfter(headers['retry-after'], Date.now()));
  check(response);
  return response;
}

/** How long the site asks to wait, in milliseconds; throws if the request is not worth another attempt. */
function pauseAfter(error: unknown, attempt: number, retries: number): number {
  if (!(error instanceof SiteError) || error.kind !== 'passing') throw error;
  const { message, wait } = error;
  if (wait > MAX_PAUSE)
    throw new SiteError(`the site asks for a pause of ${Math.ceil(wait / 1000)} s`, 'closed');
  if (attempt > retries) throw new SiteError(`${message} (attempt ${attempt} of ${attempt})`, 'site');
  return wait;
}

/** The response at the end of redirects. `ask` may refuse to go to a URL; a first `path` is sent exactly as it is written. */
export async function followRedirects<Response extends HttpResponse<unknown>>(
  start: URL,
  firstPath: string,
  ask: (url: URL, path: string) => Promise<Response>,
): Promise<Response> {
  let [url, path] = [start, firstPath];
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await ask(url, path);
    const { location } = response.headers;
    if (!REDIRECTS.has(response.status) || location === undefined) return response;
    const target = URL.parse(location, url.origin + path);
    if (target === null) throw new SiteError('redirects to something that is no address', 'answer');
    [url, path] = [target, target.pathname + target.search];
  }
  throw new SiteError(`more than ${MAX_REDIRECTS} redirects`, 'answer');
}

/** Whether a host that answers like this may answer every request so. */
const isRefusal = (status: number) => status === 401 || status === 403;

/** The milliseconds that Retry-After asks for; 0 without one. */
export function retryAfter(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  const wanted = /^\s*\d+\s*$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return wanted > 0 ? wanted : 0;
}

/** Milliseconds to wait: more with each attempt, and different for each request. */
const backoff = (attempt: number) =>
  Math.random() * Math.min(FIRST_BACKOFF * 2 ** (attempt - 1), MAX_BACKOFF);

/** Lets requests through one by one, at the current rate. */
export function createPace(
  { rate: most, startRate = START_RATE }: Pick<HostOptions, 'rate' | 'startRate'>,
  signal: AbortSignal,
) {
  let rate = Math.min(startRate, most);
  let growth = FIRST_GROWTH;
  let nextSlot = 0;
  let pausedUntil = 0;
  let slowedAt = 0;

  return {
    /** Requests per second. */
    rate: () => rate,
    /** Waits until the next request may be sent; the time at which that is. */
    async waitForSlot(): Promise<number> {
      const at = Math.max(nextSlot, performance.now());
      nextSlot = at + 1000 / rate;
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
    /** Lets nothing through for this number of milliseconds. */
    pause(milliseconds: number): void {
      pausedUntil = Math.max(pausedUntil, performance.now() + milliseconds);
    },
  };
}

// Sends one notification to a program of others.

interface Call extends Omit<HttpRequest, 'path'> {
  readonly url: string;
  /** What the operator can do if it is refused. */
  readonly remedy?: string;
}

interface CallOptions {
  readonly signal: AbortSignal;
  /** Whether the last notification was accepted. Otherwise this one is sent once. */
  readonly wasReached: boolean;
  /** Milliseconds, for all attempts together. */
  readonly limit?: number;
}

const LIMIT = 15_000;
const RETRIES = 2;
const PACE = { concurrency: 1, rate: 100, startRate: 100, timeout: 5000, userAgent: 'vitrine' };

/** Throws unless the request is accepted. Failures that may pass are repeated; redirects are not followed. */
export async function call(
  { url, remedy, ...request }: Call,
  { signal, wasReached, limit = LIMIT }: CallOptions,
): Promise<void> {
  const origin = new URL(url);
  const path = origin.pathname + origin.search;
  const timeLimit = AbortSignal.timeout(limit);
  const ends = AbortSignal.any([signal, timeLimit]);
  using host = createHost({ ...PACE, retries: wasReached ? RETRIES : 0, origin, signal: ends });
  const { status } = await host
    .ask((client) => client.send({ ...request, path }))
    .catch((error) => {
      throw timeLimit.aborted ? new SiteError(`no answer within ${limit / 1000} s`, 'site') : error;
    });
  const advice = remedy === undefined ? '' : `: ${remedy}`;
  if (status < 200 || status > 299) throw new SiteError(`status ${status}${advice}`, 'answer');
}
