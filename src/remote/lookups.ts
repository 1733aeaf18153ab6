// Base addresses of other sites, and the lookups below them.
import { type RouteStyle, VARIANT_NAMES, VARIANTS } from '../variants.ts';

/** The names of the lists, of all variants. */
export const COLLECTIONS: readonly string[] = VARIANT_NAMES.map((name) => VARIANTS[name].collection);

/** A site lists 15. One that lists far more does not speak this API. */
export const MAX_ITEMS = 1000;

export type Lookup = 'profile' | 'items';
export type LookupPaths = Readonly<Record<Lookup, string>>;

/** The lookups of one user, under the path of a base address. */
export function lookupPaths(style: RouteStyle, base: string, user: string): LookupPaths {
  const name = encodeURIComponent(user);
  const profile = style === 'query' ? `${base}/api/?user=${name}` : `${base}/api/username/${name}`;
  return { profile, items: style === 'query' ? `${profile}&post=true` : `${profile}/shots` };
}

/** A lookup that names no user. A proxy passes it on; Vitrine answers it with 400. */
export const lookupWithoutUser = (style: RouteStyle, base: string) =>
  style === 'query' ? `${base}/api/?post=true` : `${base}/api/username/`;

/** A base address as people write it, without the slash at its end; or why it is not one. */
export function readBase(text: string): URL | string {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return 'must be an http or https URL';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (/[?#]/.test(text)) return 'must have neither query nor fragment';
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

/** The path of a base address; empty for the root. */
export const basePath = ({ pathname }: URL) => (pathname === '/' ? '' : pathname);
