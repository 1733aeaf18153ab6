// The caches that are told what changed (PURGE), and the headers of answers in which they find the tags of users.
import { absoluteUrl, Mistake, splitList } from './setting-values.ts';

export interface Cache {
  readonly kind: CacheKind;
  /** A folder, a URL, or the id of a site at its provider. */
  readonly place: string;
  /** The most calls a minute that the provider allows, if it was given. */
  readonly perMinute?: number | undefined;
  /** As it was written. */
  readonly text: string;
}

interface Kind {
  readonly example: string;
  /** The response header in which the cache looks for tags; where any would do, the usual one. */
  readonly tagHeader: string;
  /** The place in canonical form; undefined if it is none. */
  readonly place: (text: string) => string | undefined;
}

const matching = (pattern: RegExp) => (text: string) => (pattern.test(text) ? text : undefined);

function url(text: string): string | undefined {
  try {
    return absoluteUrl(text);
  } catch {
    return undefined;
  }
}

/** How `src/purge` tells each of them is in its own table. */
const CACHE_KINDS = {
  nginx: {
    example: 'nginx:/var/cache/vitrine',
    tagHeader: 'Cache-Tag',
    place: matching(/^\/[\w./@+-]*[\w.@+-]$/),
  },
  varnish: { example: 'varnish:http://127.0.0.1:6081', tagHeader: 'Cache-Tag', place: url },
  cloudflare: { example: 'cloudflare:ZONE_ID', tagHeader: 'Cache-Tag', place: matching(/^[0-9a-f]{32}$/) },
  fastly: { example: 'fastly:SERVICE_ID', tagHeader: 'Surrogate-Key', place: matching(/^\w{10,64}$/) },
  netlify: { example: 'netlify:SITE_ID', tagHeader: 'Netlify-Cache-Tag', place: matching(/^[\w-]{10,64}$/) },
  post: { example: 'post:https://example.org/purge', tagHeader: 'Cache-Tag', place: url },
} as const satisfies Record<string, Kind>;

export type CacheKind = keyof typeof CACHE_KINDS;
const EXAMPLES = Object.values(CACHE_KINDS).map(({ example }) => example);

const isKind = (text: string): text is CacheKind => Object.hasOwn(CACHE_KINDS, text);

/** `nginx:/var/cache/vitrine,cloudflare:ZONE_ID?per-minute=300` */
export function caches(text: string): Cache[] {
  return splitList(text).map((entry) => {
    const [, kind = '', rest = '', limit] = /^(\w+):(.*?)(?:\?per-minute=([1-9]\d{0,5}))?$/.exec(entry) ?? [];
    if (!isKind(kind))
      throw new Mistake(`must be caches separated by commas, such as ${EXAMPLES.join(', ')}`);
    const place = CACHE_KINDS[kind].place(rest);
    if (place === undefined)
      throw new Mistake(`must name a cache of this kind like ${CACHE_KINDS[kind].example}`);
    return { kind, place, perMinute: limit === undefined ? undefined : Number(limit), text: entry };
  });
}

/** In which Varnish is told of tags, separated by `|`. */
export const BAN_HEADER = 'X-Ban-Tags';

/** The headers with tags: the one that was set, and those that the caches read. */
export function listTagHeaders({
  cacheTagHeader,
  purge,
}: {
  readonly cacheTagHeader: string | undefined;
  readonly purge: readonly Cache[];
}): string[] {
  const headers = purge.map(({ kind }) => CACHE_KINDS[kind].tagHeader);
  return [...new Set(cacheTagHeader === undefined ? headers : [cacheTagHeader, ...headers])];
}
