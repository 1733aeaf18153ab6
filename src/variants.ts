// The variants of the API and the styles of their routes, one row each. Routes, settings, OpenAPI, explorer, card, mirror,
// compare, doctor and printed configurations read these tables.

import type { Family } from './records/kinds.ts';
import { keysOf } from './records/tables.ts';

/** Where a style has its two lookups, below a base address. The user stands in the query or in the path. */
export interface LookupAddresses {
  readonly profile: string;
  readonly items: string;
}

export const STYLES = {
  path: { profile: '/api/username/:username', items: '/api/username/:username/shots' },
  query: { profile: '/api/?user=:username', items: '/api/?user=:username&post=true' },
} as const satisfies Record<string, LookupAddresses>;

export type RouteStyle = keyof typeof STYLES;
export const STYLE_NAMES = keysOf(STYLES);

/** What else a site has of a user, below its host. */
export const USER_ADDRESSES = {
  page: '/people/:variant/:username',
  follow: '/people/:variant/:username/follow',
  card: '/card/:variant/:username.svg',
  atom: '/feeds/:variant/:username.atom',
  json: '/feeds/:variant/:username.json',
} as const;

/**
 * Which parameters matter outside the API, by address; on others none does. Caches in front of the server may drop the rest,
 * which would fill them with copies.
 */
export const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  '/people/:variant': ['after', 'q'],
  '/people/:variant.json': ['after', 'q'],
  [USER_ADDRESSES.page]: ['before'],
  '/oembed': ['url', 'format', 'maxwidth', 'maxheight'],
};

export const fillAddress = (address: string, variant: Variant, user: string) =>
  address.replace(':variant', variant).replace(':username', () => encodeURIComponent(user));

/** Whether the user stands in the query. */
export const isInQuery = (style: RouteStyle) => STYLES[style].profile.includes('?');

/** The two lookups of one user, below a base address. */
export function lookupAddresses(style: RouteStyle, base: string, user: string): LookupAddresses {
  const fill = (address: string) => base + address.replace(':username', () => encodeURIComponent(user));
  return { profile: fill(STYLES[style].profile), items: fill(STYLES[style].items) };
}

export interface VariantRow {
  readonly style: RouteStyle;
  readonly family: Family;
  /** The one member of an item list's body. */
  readonly collection: string;
  readonly about: string;
}

export const VARIANTS = {
  a: {
    style: 'query',
    family: 'microblog',
    collection: 'posts',
    about: 'Microblog: profiles and posts. The query names the user and asks for posts.',
  },
  b: {
    style: 'path',
    family: 'portfolio',
    collection: 'Shots',
    about: 'Design portfolio: profiles and shots, listed as `Shots`. The path names the user.',
  },
  c: {
    style: 'path',
    family: 'portfolio',
    collection: 'Posts',
    about: 'Design portfolio: like variant B, but the shots are listed as `Posts`.',
  },
} as const satisfies Record<string, VariantRow>;

export type Variant = keyof typeof VARIANTS;
export const VARIANT_NAMES = keysOf(VARIANTS);
const LIST = new Intl.ListFormat('en-GB');
/** `B and C`. */
export const inWords = (variants: readonly Variant[]) =>
  LIST.format(variants.map((variant) => variant.toUpperCase()));
/** The names of a family's lists, each once. */
export const collectionsOf = (family: Family): string[] => [
  ...new Set(
    Object.values(VARIANTS)
      .filter((row) => row.family === family)
      .map((row) => row.collection),
  ),
];
/** The names of the lists, of all variants. */
export const COLLECTIONS: readonly string[] = VARIANT_NAMES.map((name) => VARIANTS[name].collection);
