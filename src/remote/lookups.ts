// Base addresses of other sites, and the lookups below them.
import type { LookupAddresses } from '../variants.ts';

/** A site lists 15. One that lists far more does not speak this API. */
export const MAX_ITEMS = 1000;

export type Lookup = keyof LookupAddresses;

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
