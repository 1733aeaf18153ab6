// Conditional GETs to the site that is mirrored: paced, retried, and never sent to another host.
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { brief } from '../records/normalise.ts';
import {
  BodyTooLong,
  createHttpClient,
  type HttpClient,
  type HttpResponse,
  RequestError,
} from '../remote/http-client.ts';
import { basePath, lookupPaths } from '../remote/lookups.ts';
import { retryAfter } from '../remote/retry-after.ts';
import { VARIANTS, type Variant } from '../variants.ts';
import { createPace } from './request-pace.ts';

export interface SiteOptions {
  readonly variant: Variant;
  readonly base: URL;
  readonly concurrency: number;
  /** The most requests per second. */
  readonly rate: number;
  /** Milliseconds for one request. */
  readonly timeout: number;
  /** How often a failed request is repeated. */
  readonly retries: number;
  /** Stops waiting and sending. */
  readonly signal: AbortSignal;
}

/** What a later request needs to ask for changes only. */
export interface Validators {
  readonly etag?: string | undefined;
  readonly modified?: string | undefined;
}

export type SiteResponse =
  | { readonly state: 'body'; readonly body: Buffer; readonly validators: Validators }
  | { readonly state: 'unchanged' }
  | { readonly state: 'unknown' };

export class SiteError extends Error {
  override name = 'SiteError';
  /** Whether the site as a whole seems to be down, not just this response. */
  readonly siteDown: boolean;
  constructor(message: string, siteDown: boolean) {
    super(message);
    this.siteDown = siteDown;
  }
}

/** The site asks for a longer pause than a mirror waits. */
export class SiteClosed extends Error {
  override name = 'SiteClosed';
}

/** Fifteen records of 64 KiB, with room for every character to be written as an escape. */
const MAX_BODY = 3 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const MAX_PAUSE = 60_000;
const FIRST_BACKOFF = 500;
const MAX_BACKOFF = 30_000;
const MAX_VALIDATOR = 1024;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const RETRYABLE = new Set([408, 421, 425, 429, 500, 502, 503, 504]);
const OVERLOADED = new Set([408, 429, 502, 503, 504]);
const NOT_JSON = 'a web page instead of JSON';

/** Why a request is worth repeating, and after how many milliseconds at least. */
interface Retry {
  readonly reason: string;
  readonly wait: number;
}

export type SiteClient = ReturnType<typeof createSiteClient>;

export function createSiteClient(options: SiteOptions) {
  const { variant, base, retries, signal } = options;
  const { timeout, concurrency: connections } = options;
  const http = createHttpClient({ origin: base, timeout, maxBytes: MAX_BODY, connections });
  const pace = createPace(options.rate, signal);
  // Each waiting request listens to the signal.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', http.close, { once: true });

  async function get(path: string, validators: Validators = {}): Promise<SiteResponse> {
    const headers = requestHeaders(validators);
    const conditional = 'if-none-match' in headers || 'if-modified-since' in headers;
    for (let attempt = 1; ; attempt++) {
      const result = await tryOnce(path, headers);
      if (!('reason' in result)) return readResponse(result, conditional);
      if (result.wait > MAX_PAUSE)
        throw new SiteClosed(`the site asks for a pause of ${Math.ceil(result.wait / 1000)} s`);
      if (attempt > retries) throw new SiteError(`${result.reason} (attempt ${attempt} of ${attempt})`, true);
      pace.pause(result.wait);
      await delay(Math.max(result.wait, backoff(attempt)), undefined, { signal });
    }
  }

  async function tryOnce(path: string, headers: Record<string, string>): Promise<HttpResponse | Retry> {
    try {
      const response = await followRedirects(path, headers);
      const { status, body } = response;
      if (RETRYABLE.has(status))
        return {
          reason: `status ${status}`,
          wait: retryAfter(response.headers['retry-after'], Date.now()),
        };
      return status === 200 && isMarkup(body) ? { reason: NOT_JSON, wait: 0 } : response;
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      signal.throwIfAborted();
      if (error.retryable) return { reason: error.message, wait: 0 };
      throw new SiteError(error.message, !(error instanceof BodyTooLong));
    }
  }

  async function followRedirects(start: string, headers: Record<string, string>): Promise<HttpResponse> {
    let path = start;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const response = await send(http, pace, path, headers);
      const { location } = response.headers;
      if (!REDIRECTS.has(response.status) || location === undefined) return response;
      path = redirectTarget(location, base.origin, path);
    }
    throw new SiteError(`more than ${MAX_REDIRECTS} redirects`, false);
  }

  return {
    lookups: (name: string) => lookupPaths(VARIANTS[variant].style, basePath(base), name),
    urlOf: (path: string) => base.origin + path,
    get,
    close(): void {
      signal.removeEventListener('abort', http.close);
      http.close();
    },
  };
}

function requestHeaders({ etag, modified }: Validators): Record<string, string> {
  const headers: Record<string, string> = {
    accept: 'application/json, */*;q=0.1',
    'accept-encoding': 'gzip',
    'user-agent': 'vitrine-mirror',
  };
  if (etag !== undefined) headers['if-none-match'] = etag;
  else if (modified !== undefined) headers['if-modified-since'] = modified;
  return headers;
}

/** One request when its turn has come; the pace learns how it went. */
async function send(
  http: HttpClient,
  pace: ReturnType<typeof createPace>,
  path: string,
  headers: Record<string, string>,
): Promise<HttpResponse> {
  const sentAt = await pace.turn();
  try {
    const response = await http.send({ path, headers });
    if (OVERLOADED.has(response.status)) pace.overloaded(sentAt);
    else pace.responded(sentAt);
    return response;
  } catch (error) {
    if (error instanceof RequestError && error.retryable) pace.overloaded(sentAt);
    throw error;
  }
}

function redirectTarget(location: string, origin: string, path: string): string {
  const target = URL.parse(location, origin + path);
  if (target?.origin === origin) return target.pathname + target.search;
  throw new SiteError(
    `redirects to another site, which is not followed: ${brief(target?.origin ?? location)}`,
    false,
  );
}

function readResponse({ status, headers, body }: HttpResponse, conditional: boolean): SiteResponse {
  if (status === 304 && conditional) return { state: 'unchanged' };
  if (status === 404 || status === 410) {
    // Parked domains and wrong base addresses answer like this; the user may well exist.
    if (isMarkup(body)) throw new SiteError(`status ${status} with ${NOT_JSON}`, true);
    return { state: 'unknown' };
  }
  if (status !== 200) throw new SiteError(`status ${status}`, status === 401 || status === 403);
  const encoding = headers['content-encoding']?.trim() ?? '';
  if (!/^((x-)?gzip|identity)?$/i.test(encoding))
    throw new SiteError(`content encoding ${brief(encoding)} was not asked for`, false);
  const { etag, 'last-modified': modified } = headers;
  return { state: 'body', body, validators: { etag: validator(etag), modified: validator(modified) } };
}

/** Whether a body is HTML or XML. Content types are not to be relied on: PHP labels everything as HTML. */
const isMarkup = (body: Buffer) => /^\ufeff?\s*</.test(body.toString('utf8', 0, 1024));

const validator = (text: string | undefined) =>
  text !== undefined && text !== '' && text.length <= MAX_VALIDATOR ? text : undefined;

/** Milliseconds to wait: more with each attempt, and different for each request. */
const backoff = (attempt: number) =>
  Math.random() * Math.min(FIRST_BACKOFF * 2 ** (attempt - 1), MAX_BACKOFF);
