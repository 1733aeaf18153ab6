// Base addresses of other sites, and the lookups below them.
import { FILE_MEMBERS, type KindName, PICTURE_MEMBERS } from '../records/kinds.ts';
import type { RawRecord } from '../records/recognise.ts';
import { type Member, SCHEMAS } from '../records/schemas.ts';
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

/**
 * A record as a browser reads its addresses: `www.…` has the site's scheme, and those of pictures and files may be relative.
 * A relative address is one with a point or a slash; other texts stay what they are.
 */
export function resolveAddresses(raw: RawRecord, kind: KindName, base: URL): RawRecord {
  const files = [...PICTURE_MEMBERS[kind], ...FILE_MEMBERS[kind]];
  const resolved: Record<string, unknown> = {};
  for (const [member, schema] of Object.entries(SCHEMAS[kind].properties as Record<string, Member>)) {
    const text = raw[member];
    if (schema['x-form'] !== 'url' || typeof text !== 'string' || /^[a-z][a-z\d+.-]*:/i.test(text)) continue;
    if (/^www\./i.test(text)) resolved[member] = `${base.protocol}//${text}`;
    else if (files.includes(member) && /[./]/.test(text))
      resolved[member] = URL.parse(text, `${base.origin}${basePath(base)}/`)?.href ?? text;
  }
  return { ...raw, ...resolved };
}
