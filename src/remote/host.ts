// Other hosts, each asked at its pace. A request that fails for a reason that may pass is repeated; after many failures in a
// row a host is not asked any more.
import type { LookupFunction } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createHttpClient,
  type HttpClient,
  type HttpClientOptions,
  type HttpResponse,
  SiteError,
} from './http-client.ts';
import { createPace, type RateOptions } from './pace.ts';

/** After so many failures in a row a host counts as down. */
export const MAX_FAILURES = 20;
const MAX_REDIRECTS = 5;
const MAX_PAUSE = 60_000;
const FIRST_BACKOFF = 500;
const MAX_BACKOFF = 30_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const OVERLOADED = new Set([408, 429, 502, 503, 504]);
const RETRYABLE = new Set([...OVERLOADED, 500]);

/** How a run asks other hosts. */
export interface HostOptions extends RateOptions {
  /** Requests at a time to one host. */
  readonly concurrency: number;
  /** Milliseconds to wait for a host that sends nothing. */
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
/** Why a response with status 200 is worth asking for again. */
type FindFlaw<Body> = (response: HttpResponse<Body>) => string | undefined;

export type Hosts = ReturnType<typeof createHosts>;

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

export function createHost(options: HostOptions & Pick<HttpClientOptions, 'origin' | 'lookup'>) {
  const { origin, signal, retries } = options;
  const client = createHttpClient({ ...options, connections: options.concurrency });
  const pace = createPace(options, signal);
  let failuresInRow = 0;
  signal.addEventListener('abort', client.close, { once: true });

  /** A response that is not worth asking for again. */
  async function ask<Body>(send: Send<Body>, findFlaw?: FindFlaw<Body>): Promise<HttpResponse<Body>> {
    if (failuresInRow >= MAX_FAILURES) throw new SiteError(`${origin.host} was given up`, 'site');
    try {
      const response = await repeat(send, findFlaw);
      failuresInRow = isRefusal(response.status) ? failuresInRow + 1 : 0;
      return response;
    } catch (error) {
      const { kind } = error as Partial<SiteError>;
      if (kind === 'closed') failuresInRow = MAX_FAILURES;
      else failuresInRow = kind === 'site' ? failuresInRow + 1 : 0;
      throw error;
    }
  }

  async function repeat<Body>(send: Send<Body>, findFlaw?: FindFlaw<Body>): Promise<HttpResponse<Body>> {
    for (let attempt = 1; ; attempt++)
      try {
        return await sendInTurn(send, findFlaw);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof SiteError) || error.kind !== 'passing') throw error;
        const { message, wait } = error;
        if (wait > MAX_PAUSE)
          throw new SiteError(`the site asks for a pause of ${Math.ceil(wait / 1000)} s`, 'closed');
        if (attempt > retries) throw new SiteError(`${message} (attempt ${attempt} of ${attempt})`, 'site');
        pace.pause(wait);
        await delay(Math.max(wait, backoff(attempt)), undefined, { signal });
      }
  }

  /** One request; the pace learns how it went. */
  async function sendInTurn<Body>(send: Send<Body>, findFlaw?: FindFlaw<Body>): Promise<HttpResponse<Body>> {
    const sentAt = await pace.turn();
    const response = await send(client).catch((error) => {
      if (error.kind === 'passing') pace.overloaded(sentAt);
      throw error;
    });
    const { status, headers } = response;
    if (OVERLOADED.has(status)) pace.overloaded(sentAt);
    else pace.responded();
    if (RETRYABLE.has(status))
      throw new SiteError(`status ${status}`, 'passing', retryAfter(headers['retry-after'], Date.now()));
    const flaw = status === 200 ? findFlaw?.(response) : undefined;
    if (flaw !== undefined) throw new SiteError(flaw, 'passing');
    return response;
  }

  return {
    ask,
    [Symbol.dispose](): void {
      signal.removeEventListener('abort', client.close);
      client.close();
    },
  };
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
export const isRefusal = (status: number) => status === 401 || status === 403;

/** The milliseconds that Retry-After asks for; 0 without one. */
export function retryAfter(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  const wanted = /^\s*\d+\s*$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return wanted > 0 ? wanted : 0;
}

/** Milliseconds to wait: more with each attempt, and different for each request. */
const backoff = (attempt: number) =>
  Math.random() * Math.min(FIRST_BACKOFF * 2 ** (attempt - 1), MAX_BACKOFF);
