// The caches to purge of what changed (PURGE).
import { absoluteUrl, Mistake, matching, splitList } from './setting-values.ts';

export interface Cache {
  readonly kind: CacheKind;
  /** A folder, a URL, or the id of a zone. */
  readonly place: string;
  /** The most calls a minute that the provider allows, if it was given. */
  readonly perMinute?: number | undefined;
  /** As it was written. */
  readonly text: string;
}

const MISTAKE =
  'must be caches separated by commas, such as nginx:/var/cache/vitrine, cloudflare:ZONE_ID, post:https://example.org/purge';
const place = (pattern: RegExp) => matching(pattern, MISTAKE);

/** The place of each kind in canonical form. */
const PLACES = {
  nginx: place(/^\/[\w./@+-]*[\w.@+-]$/),
  cloudflare: place(/^[0-9a-f]{32}$/),
  post: absoluteUrl,
};

export type CacheKind = keyof typeof PLACES;

const isKind = (text: string): text is CacheKind => Object.hasOwn(PLACES, text);

/** `nginx:/var/cache/vitrine,cloudflare:ZONE_ID?per-minute=300` */
export function caches(text: string): Cache[] {
  return splitList(text).map((entry) => {
    const [, kind = '', rest = '', limit] = /^(\w+):(.*?)(?:\?per-minute=([1-9]\d{0,5}))?$/.exec(entry) ?? [];
    if (!isKind(kind)) throw new Mistake(MISTAKE);
    return {
      kind,
      place: PLACES[kind](rest),
      perMinute: limit === undefined ? undefined : Number(limit),
      text: entry,
    };
  });
}
