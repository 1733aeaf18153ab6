// The caches that are told what changed (PURGE), and the headers of answers in which they find the tags of users.
import { absoluteUrl, Mistake, matching, splitList } from './setting-values.ts';

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
  /** The response header in which the cache looks for tags; where any would do, the usual one. */
  readonly tagHeader: string;
  /** The place in canonical form. */
  readonly place: (text: string) => string;
}

const MISTAKE =
  'must be caches separated by commas, such as nginx:/var/cache/vitrine, varnish:http://127.0.0.1:6081, cloudflare:ZONE_ID, fastly:SERVICE_ID, netlify:SITE_ID, post:https://example.org/purge';
const place = (pattern: RegExp) => matching(pattern, MISTAKE);

/** How `src/purge` tells each of them is in its own table. */
const CACHE_KINDS = {
  nginx: {
    tagHeader: 'Cache-Tag',
    place: place(/^\/[\w./@+-]*[\w.@+-]$/),
  },
  varnish: { tagHeader: 'Cache-Tag', place: absoluteUrl },
  cloudflare: { tagHeader: 'Cache-Tag', place: place(/^[0-9a-f]{32}$/) },
  fastly: { tagHeader: 'Surrogate-Key', place: place(/^\w{10,64}$/) },
  netlify: { tagHeader: 'Netlify-Cache-Tag', place: place(/^[\w-]{10,64}$/) },
  post: { tagHeader: 'Cache-Tag', place: absoluteUrl },
} as const satisfies Record<string, Kind>;

export type CacheKind = keyof typeof CACHE_KINDS;

const isKind = (text: string): text is CacheKind => Object.hasOwn(CACHE_KINDS, text);

/** `nginx:/var/cache/vitrine,cloudflare:ZONE_ID?per-minute=300` */
export function caches(text: string): Cache[] {
  return splitList(text).map((entry) => {
    const [, kind = '', rest = '', limit] = /^(\w+):(.*?)(?:\?per-minute=([1-9]\d{0,5}))?$/.exec(entry) ?? [];
    if (!isKind(kind)) throw new Mistake(MISTAKE);
    return {
      kind,
      place: CACHE_KINDS[kind].place(rest),
      perMinute: limit === undefined ? undefined : Number(limit),
      text: entry,
    };
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
