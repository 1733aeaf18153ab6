// GETs to one site with this API, conditional or not: paced, retried, and never sent to another host.
import { setMaxListeners } from 'node:events';
import { brief } from '../records/normalise.ts';
import { lookupAddresses, VARIANTS, type Variant } from '../variants.ts';
import { createHttpClient, type HttpResponse } from './http-client.ts';
import { basePath, type Lookup } from './lookups.ts';
import {
  createPace,
  isRefusal,
  MAX_REDIRECTS,
  type RateOptions,
  redirection,
  repeat,
  SiteError,
  sendInTurn,
} from './polite-requests.ts';

export interface SiteOptions extends RateOptions {
  readonly variant: Variant;
  readonly base: URL;
  readonly concurrency: number;
  readonly userAgent: string;
  /** Milliseconds to wait for a site that sends nothing. */
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
  /** The site does not know the user, or has taken the user down (status 410). */
  | { readonly state: 'unknown'; readonly isGone: boolean };

/** Fifteen records of 64 KiB, with room for every character to be written as an escape. */
const MAX_BODY = 3 * 1024 * 1024;
const MAX_VALIDATOR = 1024;
const NOT_JSON = 'a web page instead of JSON';

export type SiteClient = ReturnType<typeof createSiteClient>;

export function createSiteClient(options: SiteOptions) {
  const { variant, base, retries, signal } = options;
  const { timeout, concurrency: connections } = options;
  const http = createHttpClient({ origin: base, timeout, maxBytes: MAX_BODY, connections });
  const pace = createPace(options, signal);
  // Each waiting request listens to the signal.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', http.close, { once: true });

  const urlOf = (name: string, lookup: Lookup) =>
    base.origin + lookupAddresses(VARIANTS[variant].style, basePath(base), name)[lookup];

  /** What the site says of a user; errors name the address. */
  async function get(name: string, lookup: Lookup, validators: Validators = {}): Promise<SiteResponse> {
    const url = urlOf(name, lookup);
    const headers = requestHeaders(options.userAgent, validators);
    const conditional = 'if-none-match' in headers || 'if-modified-since' in headers;
    const send = () => followRedirects(url.slice(base.origin.length), headers);
    try {
      return readResponse(await repeat(send, { retries, pace, signal }, flawOf), conditional);
    } catch (error) {
      if (error instanceof SiteError) throw new SiteError(`${url}: ${error.message}`, error.siteDown);
      throw error;
    }
  }

  async function followRedirects(start: string, headers: Record<string, string>): Promise<HttpResponse> {
    let path = start;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const response = await sendInTurn(pace, () => http.send({ path, headers }));
      const location = redirection(response);
      if (location === undefined) return response;
      path = redirectTarget(location, base.origin, path);
    }
    throw new SiteError(`more than ${MAX_REDIRECTS} redirects`, false);
  }

  return {
    /** Its turns are for all requests to this site. */
    pace,
    base,
    urlOf,
    get,
    close(): void {
      signal.removeEventListener('abort', http.close);
      http.close();
    },
  };
}

function requestHeaders(userAgent: string, { etag, modified }: Validators): Record<string, string> {
  const headers: Record<string, string> = {
    accept: 'application/json, */*;q=0.1',
    'accept-encoding': 'gzip',
    'user-agent': userAgent,
  };
  if (etag !== undefined) headers['if-none-match'] = etag;
  else if (modified !== undefined) headers['if-modified-since'] = modified;
  return headers;
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
    return { state: 'unknown', isGone: status === 410 };
  }
  if (status !== 200) throw new SiteError(`status ${status}`, isRefusal(status));
  const encoding = headers['content-encoding']?.trim() ?? '';
  if (!/^((x-)?gzip|identity)?$/i.test(encoding))
    throw new SiteError(`content encoding ${brief(encoding)} was not asked for`, false);
  const { etag, 'last-modified': modified } = headers;
  return { state: 'body', body, validators: { etag: validator(etag), modified: validator(modified) } };
}

/** PHP answers many an error with a page and status 200. */
const flawOf = ({ body }: HttpResponse) => (isMarkup(body) ? NOT_JSON : undefined);

/** Whether a body is HTML or XML. Content types are not to be relied on: PHP labels everything as HTML. */
const isMarkup = (body: Buffer) => /^\ufeff?\s*</.test(body.toString('utf8', 0, 1024));

const validator = (text: string | undefined) =>
  text !== undefined && text !== '' && text.length <= MAX_VALIDATOR ? text : undefined;
