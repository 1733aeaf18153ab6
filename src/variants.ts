// The variants of the API, one row each. Routes, settings, OpenAPI, explorer, card, mirror and doctor read this table.
import type { Family } from './records/kinds.ts';

/** How a route names the user: in the query (`?user=ada`) or in the path (`/username/ada`). */
export type RouteStyle = 'query' | 'path';

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
export const VARIANT_NAMES = Object.keys(VARIANTS) as Variant[];
