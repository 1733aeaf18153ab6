// What `vitrine publish` lets choose, for its help and for the rest of it.

export const PLATFORM_NAMES = ['nginx', 'caddy', 'cloudflare', 'netlify'] as const;
export type PlatformName = (typeof PLATFORM_NAMES)[number];

/** Parts that may be left out. */
export const PARTS = ['pages', 'cards', 'feeds', 'media'] as const;
export type Part = (typeof PARTS)[number];
