// A live site of this kind, asked politely: at its pace, again after a while, nowhere else, and only for what is new.
import { setTimeout as delay } from 'node:timers/promises';
import { brief } from '../records/normalise.ts';
import { AskError, type Asker, createAsker, type Heard, TooLong } from '../remote/http-client.ts';
import { basePath, LOOKUPS, type Variant } from '../remote/lookups.ts';

export interface SiteOptions {
  readonly variant: Variant;
  readonly base: URL;
  readonly concurrency: number;
  /** Requests per second. */
  readonly rate: number;
  /** Milliseconds for one request. */
  readonly timeout: number;
  /** How often a request that failed is made again. */
  readonly retries: number;
}

/** By what a later request can ask for news only. */
export interface Validators {
  readonly etag?: string | undefined;
  readonly modified?: string | undefined;
}

export type Told =
  | { readonly state: 'body'; readonly body: Buffer; readonly validators: Validators }
  | { readonly state: 'unchanged' }
  | { readonly state: 'unknown' };

/** What was asked for could not be had; `lost` when the site itself was at fault, and not one answer of it. */
export class SiteError extends Error {
  override name = 'SiteError';
  readonly lost: boolean;
  constructor(message: string, lost: boolean) {
    super(message);
    this.lost = lost;
  }
}

/** The site does not want to be asked for a long time. */
export class SiteClosed extends Error {
  override name = 'SiteClosed';
}

/** Fifteen records of 64 KiB, with room for every character to be written as an escape. */
const LONGEST_BODY = 3 * 1024 * 1024;
const MOST_REDIRECTS = 5;
const LONGEST_WAIT = 60_000;
const FIRST_BACKOFF = 500;
const LONGEST_BACKOFF = 30_000;
const LONGEST_VALIDATOR = 1024;
const PASSING_STATUSES = [408, 421, 425, 429, 500, 502, 503, 504];

export type LiveSite = ReturnType<typeof createLiveSite>;

export function createLiveSite(options: SiteOptions) {
  const { variant, base, retries } = options;
  const asker = createAsker({
    ...{ origin: base, timeout: options.timeout, maxBytes: LONGEST_BODY, connections: options.concurrency },
  });
  const pace = createPace(options.rate);

  async function get(path: string, held?: Validators): Promise<Told> {
    const headers = {
      ...{ accept: 'application/json, */*;q=0.1', 'accept-encoding': 'gzip', 'user-agent': 'vitrine-mirror' },
      ...(held?.etag !== undefined && { 'if-none-match': held.etag }),
      ...(held?.etag === undefined && held?.modified !== undefined && { 'if-modified-since': held.modified }),
    };
    const conditional = 'if-none-match' in headers || 'if-modified-since' in headers;
    for (let attempt = 1; ; attempt++) {
      const heard = await askOnce(path, headers, attempt > retries);
      if (heard instanceof AskError) await delay(backoff(attempt));
      else if (PASSING_STATUSES.includes(heard.status)) await waitFor(heard, attempt);
      else return told(heard, conditional);
    }
  }

  /** An answer, or why there is none when it is worth asking again. */
  async function askOnce(
    path: string,
    headers: Record<string, string>,
    last: boolean,
  ): Promise<Heard | AskError> {
    try {
      const heard = await follow(asker, base, pace.turn, path, headers);
      if (last && PASSING_STATUSES.includes(heard.status))
        throw new SiteError(`was answered ${heard.status}, ${retries + 1} times`, true);
      return heard;
    } catch (error) {
      if (!(error instanceof AskError)) throw error;
      if (last || !error.passing) throw new SiteError(error.message, !(error instanceof TooLong));
      return error;
    }
  }

  async function waitFor({ headers }: Heard, attempt: number): Promise<void> {
    const wanted = retryAfter(headers['retry-after'], Date.now());
    if (wanted > LONGEST_WAIT)
      throw new SiteClosed(`the site asks to be left alone for ${Math.ceil(wanted / 1000)} s`);
    pace.hold(wanted);
    await delay(Math.max(wanted, backoff(attempt)));
  }

  return {
    lookups: (name: string) => LOOKUPS[variant](basePath(base), name),
    urlOf: (path: string) => base.origin + path,
    get,
    close: () => asker.close(),
  };
}

/** Asks, and goes where the answer sends, as long as that is the same site. */
async function follow(
  asker: Asker,
  { origin }: URL,
  turn: () => Promise<void>,
  start: string,
  headers: Record<string, string>,
): Promise<Heard> {
  let path = start;
  for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
    await turn();
    const heard = await asker.ask({ path, headers });
    const { location } = heard.headers;
    if (![301, 302, 303, 307, 308].includes(heard.status) || location === undefined) return heard;
    const to = URL.parse(location, origin + path);
    if (to === null || to.origin !== origin)
      throw new SiteError(
        `leads to another site, which is not followed: ${brief(to?.origin ?? location)}`,
        false,
      );
    path = to.pathname + to.search;
  }
  throw new SiteError(`leads from address to address, more than ${MOST_REDIRECTS} times`, false);
}

function told({ status, headers, body }: Heard, conditional: boolean): Told {
  if (status === 304 && conditional) return { state: 'unchanged' };
  if (status === 404 || status === 410) return { state: 'unknown' };
  if (status !== 200) throw new SiteError(`was answered ${status}`, status === 401 || status === 403);
  const encoding = headers['content-encoding']?.trim() ?? '';
  if (!/^((x-)?gzip|identity)?$/i.test(encoding))
    throw new SiteError(`is encoded as ${brief(encoding)}, which was not asked for`, false);
  const { etag, 'last-modified': modified } = headers;
  return { state: 'body', body, validators: { etag: kept(etag), modified: kept(modified) } };
}

const kept = (validator: string | undefined) =>
  validator !== undefined && validator !== '' && validator.length <= LONGEST_VALIDATOR
    ? validator
    : undefined;

/** Milliseconds to wait: more each time, and never the same for two. */
const backoff = (attempt: number) =>
  Math.random() * Math.min(FIRST_BACKOFF * 2 ** (attempt - 1), LONGEST_BACKOFF);

/** What Retry-After says, in milliseconds; 0 when it says nothing. */
export function retryAfter(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  const wanted = /^\s*\d+\s*$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return wanted > 0 ? wanted : 0;
}

/** Lets requests through one by one, so many in a second. */
function createPace(perSecond: number) {
  let next = 0;
  let heldUntil = 0;
  return {
    async turn(): Promise<void> {
      const at = Math.max(next, performance.now());
      next = at + 1000 / perSecond;
      for (;;) {
        const left = Math.max(at, heldUntil) - performance.now();
        if (left <= 0) return;
        await delay(left);
      }
    },
    /** Nobody goes on before so many milliseconds have passed. */
    hold(milliseconds: number): void {
      heldUntil = Math.max(heldUntil, performance.now() + milliseconds);
    },
  };
}
