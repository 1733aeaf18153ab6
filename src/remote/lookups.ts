// Base addresses as people give them, and the lookups under them.
import { type RouteStyle, VARIANT_NAMES, VARIANTS, type Variant } from '../variants.ts';

export type { Variant } from '../variants.ts';

/** A base address as people give it, without the slash at its end; or why it cannot be one. */
export function readBase(text: string): URL | string {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return 'must be an http or https URL';
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password';
  if (/[?#]/.test(text)) return 'must have neither query nor fragment';
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

const STYLES: Record<RouteStyle, (base: string, name: string) => { profile: string; items: string }> = {
  query(base, name) {
    const profile = `${base}/api/?user=${encodeURIComponent(name)}`;
    return { profile, items: `${profile}&post=true` };
  },
  path(base, name) {
    const profile = `${base}/api/username/${encodeURIComponent(name)}`;
    return { profile, items: `${profile}/shots` };
  },
};

/** Where a variant's two lookups of a user are, under the path of a base address. */
export const LOOKUPS = Object.fromEntries(
  VARIANT_NAMES.map((variant) => [variant, STYLES[VARIANTS[variant].style]]),
) as Record<Variant, (typeof STYLES)[RouteStyle]>;

/** The path under which everything of a base address lies: empty for the root. */
export const basePath = ({ pathname }: URL) => (pathname === '/' ? '' : pathname);
