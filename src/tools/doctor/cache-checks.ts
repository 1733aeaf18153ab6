// Whether responses can be cached and revalidated, and what a cache on the way does with them.
import { setTimeout as delay } from 'node:timers/promises';
import { allowsSharedCaching, sharedAge } from '../../api/http/cache-control.ts';
import { CLOSED, type HttpResponse, SiteError } from '../remote/http-client.ts';
import {
  broken,
  type Check,
  type ExaminedSite,
  type Finding,
  isProfile,
  ok,
  quoted,
  readCode,
  suggestion,
  unclear,
} from './site.ts';

const etag: Check = {
  name: 'ETag',
  advice: 'Remove what hides ETag or rewrites bodies: proxy_hide_header, sub_filter, ssi, templates.',
  needsUser: true,
  async run({ send, profile }) {
    const tag = (await send(profile)).headers.etag;
    if (tag === undefined) return broken('is removed: browsers and caches fetch everything again');
    if (!tag.startsWith('W/')) return ok(tag);
    const again = await send(profile, { 'if-none-match': tag });
    if (again.status === 304) return ok(`${tag}: weakened on the way, which still works`);
    return broken(`${tag} is weakened on the way, and If-None-Match with it gets ${again.status}`);
  },
};

const revalidation: Check = {
  name: '304',
  advice: 'Pass If-None-Match on, and revalidate what has expired.',
  needsUser: true,
  async run({ send, profile }) {
    for (const encoding of ['identity', 'gzip']) {
      const tag = (await send(profile, { 'accept-encoding': encoding })).headers.etag;
      const which = encoding === 'gzip' ? ' of a compressed response' : '';
      if (tag === undefined && which === '') return unclear('there is no ETag to revalidate with');
      if (tag === undefined) return broken(`the ETag${which} is removed`);
      const again = await send(profile, { 'accept-encoding': encoding, 'if-none-match': tag });
      if (again.status !== 304)
        return broken(`If-None-Match with the current ETag${which} gets ${again.status} with the whole body`);
      if (again.headers['cache-control'] === undefined)
        return broken(`a 304${which} lacks Cache-Control: cached responses do not become fresh again`);
    }
    const other = await send(profile, { 'if-none-match': '"another"' });
    if (other.status !== 200) return broken(`If-None-Match with another ETag gets ${other.status}`);
    return ok('If-None-Match saves the body');
  },
};

/** What Vitrine sends for files and samples. */
const OF_FILES = 'no-cache';

const caching: Check = {
  name: 'Cache-Control',
  advice: 'Remove what sets or hides Cache-Control, or adds cookies: the time is the setting CACHE_CONTROL.',
  needsUser: true,
  async run({ send, profile }) {
    const response = await send(profile);
    const [value, ...more] = response.all('cache-control');
    if (value === undefined) return broken('is missing: caches have to guess how long to keep a response');
    if (more.length > 0)
      return broken(`comes ${more.length + 1} times: ${quoted([value, ...more].join(' | '))}`);
    // What forbids caching on the way says so with Expires or with more words, as nginx's `expires` does.
    if (value === OF_FILES && response.headers.expires === undefined)
      return unclear(`${quoted(value)}, as for files and samples. A database is served with another value`);
    if (!allowsSharedCaching(value))
      return broken(`forbids caching: ${quoted(value)} (unless that is the setting CACHE_CONTROL)`);
    if (response.headers['set-cookie'] !== undefined)
      return broken('Set-Cookie is added: shared caches do not keep such responses');
    const vary = response.all('vary').join(', ');
    if (/\*|cookie|user-agent/i.test(vary))
      return broken(`Vary: ${quoted(vary)} keeps caches from sharing responses`);
    return ok(value);
  },
};

/** What a cache says of a response; undefined when none says anything. */
type CacheState = 'hit' | 'other' | undefined;

const CACHE_HEADERS = ['x-cache-status', 'cache-status', 'cf-cache-status', 'x-cache', 'x-proxy-cache'];

const cacheHeader = ({ headers }: HttpResponse) =>
  CACHE_HEADERS.map((name) => headers[name]).find((value) => value !== undefined);

function cacheState(response: HttpResponse): CacheState {
  const { age } = response.headers;
  const said = cacheHeader(response);
  if (/\bhit\b/i.test(said ?? '') || Number(age) > 0) return 'hit';
  return said === undefined && age === undefined ? undefined : 'other';
}

/** Seconds for which an error may be cached, at most. */
const MAX_ERROR_AGE = 60;
/** Above this the doctor does not wait for an error to expire. */
const MAX_AWAITED_AGE = 10;
const EXPIRY_MARGIN = 1.5;

const errorCaching: Check = {
  name: 'error caching',
  advice:
    'Let the cache keep errors only for as long as Vitrine allows: no proxy_cache_valid any, proxy_ignore_headers Cache-Control or ttl of your own.',
  async run({ send, lookups, unusedName, withoutUser }) {
    const path = lookups(`${unusedName}-error`).profile;
    const first = await send(path);
    if (readCode(first) === undefined) return unclear('the errors are not those of Vitrine');
    const declared = declaredAge(first);
    if (declared === undefined)
      return broken('a 404 lacks Cache-Control: a cache may keep it as long as it likes');
    if (declared > MAX_ERROR_AGE)
      return broken(`a 404 may be cached for ${declared} s: new users stay unknown for as long`);
    await send(withoutUser);
    if (cacheState(await send(withoutUser)) === 'hit')
      return broken('a 400 comes from a cache, although it says no-store');
    return await checkExpiry(() => send(path), declared);
  },
};

/** The seconds for which a shared cache may keep a response; undefined if it does not say. */
function declaredAge(response: HttpResponse): number | undefined {
  const values = response.all('cache-control');
  if (values.length === 0) return undefined;
  return Math.max(...values.map((value) => sharedAge(value) ?? 0));
}

/**
 * A copy says `Age: 0` until it is a second old, and some caches say so of what they have just fetched as well. Where that is
 * all that a cache says, it is asked again when a copy must have an age.
 */
const A_SECOND_LATER = 1100;

async function askForAge(ask: () => Promise<HttpResponse>): Promise<HttpResponse> {
  const response = await ask();
  if (cacheHeader(response) !== undefined || response.headers.age !== '0') return response;
  await delay(A_SECOND_LATER);
  return await ask();
}

/** Whether a cache keeps a 404 longer than it may. Only a cache that says what it does can be judged. */
async function checkExpiry(ask: () => Promise<HttpResponse>, declared: number): Promise<Finding> {
  const state = cacheState(await askForAge(ask));
  if (state === undefined)
    return unclear(
      `a 404 may be cached for ${declared} s; nothing shows whether a cache obeys (X-Cache-Status, Age)`,
    );
  if (state === 'other') return ok('errors are not cached');
  if (declared > MAX_AWAITED_AGE) return ok(`a 404 is cached for up to ${declared} s`);
  const seconds = declared + EXPIRY_MARGIN;
  await delay(seconds * 1000);
  if (cacheState(await ask()) === 'hit')
    return broken(
      `a 404 still comes from the cache after ${seconds} s, although it may be kept for ${declared} s: new users stay unknown`,
    );
  return ok(`a 404 is cached for ${declared} s, other errors are not`);
}

const CACHE_TRIES = 3;

/** The first response that comes from a cache, or the last one tried. */
async function askCache(
  { send, profile }: ExaminedSite,
  headers?: Record<string, string>,
): Promise<HttpResponse> {
  for (let tries = 1; tries < CACHE_TRIES; tries++) {
    const response = await send(profile, headers);
    if (isServedFromCache(response)) return response;
  }
  return await askForAge(() => send(profile, headers));
}

const isServedFromCache = (response: HttpResponse) =>
  cacheState(response) === 'hit' || /stale|updating|revalidated/i.test(cacheHeader(response) ?? '');

const cache: Check = {
  name: 'cache',
  advice:
    'Add a cache, and have it say what it does in X-Cache-Status. Caddy needs the module cache-handler or a CDN.',
  needsUser: true,
  ofProxy: true,
  async run(site) {
    const response = await askCache(site);
    const said = cacheHeader(response) ?? (response.headers.age && `Age: ${response.headers.age}`);
    if (isServedFromCache(response)) return ok(`keeps responses (${quoted(said)})`);
    if (said !== undefined)
      return broken(
        `there is one, but it keeps nothing: ${quoted(said)}, ${CACHE_TRIES} times in a row`,
        'Let it keep what Cache-Control allows: no proxy_no_cache, proxy_cache_bypass or Set-Cookie, and a cache that is large enough.',
      );
    return suggestion('there is none, or none that says so (X-Cache-Status, Age)');
  },
};

const cacheKey: Check = {
  name: 'cache key',
  advice: 'Have the host in the cache key, and pass it on.',
  needsUser: true,
  ofProxy: true,
  async run(site) {
    // Only what is in the cache already: a request for another host must not fill it.
    if (cacheState(await askCache(site)) !== 'hit') return unclear(SILENT);
    const response = await site
      .send(site.profile, { host: `${site.unusedName}.example` })
      .catch(passIfClosed);
    if (response === undefined) return ok('another host gets no response');
    if (!isProfile(response)) return ok(`another host gets ${response.status}`);
    if (cacheState(response) === 'hit')
      return broken(
        'another host gets the response that is cached for this one: the cache key lacks the host',
      );
    return ok('other hosts have entries of their own');
  },
};

/** The printed nginx closes connections for hosts that no base URL names. */
function passIfClosed(error: unknown): undefined {
  if (!(error instanceof SiteError) || error.message !== CLOSED) throw error;
}

const cacheCopies: Check = {
  name: 'cache copies',
  advice: 'Drop parameters that Vitrine ignores, and keep one copy for all spellings of Accept-Encoding.',
  needsUser: true,
  ofProxy: true,
  async run(site) {
    const { send, profile, unusedName } = site;
    const isKept = async (url: string, accepted: string) =>
      isServedFromCache(await send(url, { 'accept-encoding': accepted }));
    if (!isServedFromCache(await askCache(site, { 'accept-encoding': 'gzip' }))) return unclear(SILENT);
    if (!(await isKept(`${profile}${profile.includes('?') ? '&' : '?'}${unusedName}=1`, 'gzip')))
      return suggestion('unknown parameters fill the cache: each value gets a copy of its own');
    if (!(await isKept(profile, `gzip, x-${unusedName}`)))
      return suggestion('the cache keeps a copy for each spelling of Accept-Encoding');
    return ok('one copy, whatever other parameters there are and however Accept-Encoding is spelled');
  },
};

const SILENT = 'no cache says that it keeps responses (X-Cache-Status, Age)';

export const CACHE_CHECKS: readonly Check[] = [
  etag,
  revalidation,
  caching,
  errorCaching,
  cache,
  cacheKey,
  cacheCopies,
];
