// Where another site of this kind is, and its lookups there.

/** A base address as people give it, without the slash at its end; or why it cannot be one. */
export function readBase(text: string): URL | string {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return 'must be an http or https URL';
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password';
  if (/[?#]/.test(text)) return 'must have neither query nor fragment';
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

/** Where a variant's two lookups are, under the path of its base address. */
export const LOOKUPS = {
  a: (base: string, name: string) => {
    const profile = `${base}/api/?user=${encodeURIComponent(name)}`;
    return { profile, items: `${profile}&post=true` };
  },
  b: inPath,
  c: inPath,
} as const;

function inPath(base: string, name: string) {
  const profile = `${base}/api/username/${encodeURIComponent(name)}`;
  return { profile, items: `${profile}/shots` };
}

export type Variant = keyof typeof LOOKUPS;

/** The path under which everything of a base address lies: empty for the root. */
export const basePath = ({ pathname }: URL) => (pathname === '/' ? '' : pathname);
