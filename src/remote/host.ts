// One other host, asked at its pace. A request that fails for a reason that may pass is repeated; after many failures in a
// row the host is not asked any more.
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createHttpClient,
  type HttpClient,
  type HttpClientOptions,
  type HttpResponse,
  SiteError,
} from './http-client.ts';
import { createPace, type Pace, type RateOptions } from './pace.ts';

/** After so many failures in a row a host counts as down. */
export const MAX_FAILURES = 20;
const MAX_REDIRECTS = 5;
const MAX_PAUSE = 60_000;
const FIRST_BACKOFF = 500;
const MAX_BACKOFF = 30_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const RETRYABLE = new Set([408, 421, 425, 429, 500, 502, 503, 504]);
const OVERLOADED = new Set([408, 429, 502, 503, 504]);

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

type Send<Body> = (client: HttpClient) => Promise<HttpResponse<Body>>;
/** Why a response with status 200 is worth asking for again. */
type FindFlaw<Body> = (response: HttpResponse<Body>) => string | undefined;

export type Host = ReturnType<typeof createHost>;

/** `pace` is that of other requests to the same host. */
export function createHost(
  options: HostOptions & Pick<HttpClientOptions, 'origin' | 'maxBytes' | 'lookup'>,
  pace: Pace = createPace(options, options.signal),
) {
  const { origin, signal, retries } = options;
  const client = createHttpClient({ ...options, connections: options.concurrency });
  let failuresInRow = 0;
  // Each waiting request listens to the signal.
  setMaxListeners(0, signal);
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
    for (let attempt = 1; ; attempt++) {
      const result = await attemptOnce(() => sendInTurn(pace, () => send(client)), signal, findFlaw);
      if ('status' in result) return result;
      if (result.wait > MAX_PAUSE)
        throw new SiteError(`the site asks for a pause of ${Math.ceil(result.wait / 1000)} s`, 'closed');
      if (attempt > retries)
        throw new SiteError(`${result.reason} (attempt ${attempt} of ${attempt})`, 'site');
      pace.pause(result.wait);
      await delay(Math.max(result.wait, backoff(attempt)), undefined, { signal });
    }
  }

  return {
    pace,
    ask,
    [Symbol.dispose](): void {
      signal.removeEventListener('abort', client.close);
      client.close();
    },
  };
}

/** One request when its turn has come; the pace learns how it went. */
async function sendInTurn<Body>(
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
    if (error instanceof SiteError && error.kind === 'passing') pace.overloaded(sentAt);
    throw error;
  }
}

/** The response; or why the request is worth repeating, and after how many milliseconds at least. */
async function attemptOnce<Body>(
  send: () => Promise<HttpResponse<Body>>,
  signal: AbortSignal,
  findFlaw: FindFlaw<Body> = () => undefined,
): Promise<HttpResponse<Body> | { reason: string; wait: number }> {
  try {
    const response = await send();
    const { status, headers } = response;
    if (RETRYABLE.has(status))
      return { reason: `status ${status}`, wait: retryAfter(headers['retry-after'], Date.now()) };
    const flaw = status === 200 ? findFlaw(response) : undefined;
    return flaw === undefined ? response : { reason: flaw, wait: 0 };
  } catch (error) {
    if (error instanceof SiteError) signal.throwIfAborted();
    if (error instanceof SiteError && error.kind === 'passing') return { reason: error.message, wait: 0 };
    throw error;
  }
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
