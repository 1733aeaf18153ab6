// The base address of a site as people write it.

/** A base address as people write it, without the slash at its end; or why it is not one. */
export function readBase(text: string): URL {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) throw new Error('must be an http or https URL');
  if (url.username !== '' || url.password !== '') throw new Error('must not contain a user name or password');
  if (/[?#]/.test(text)) throw new Error('must have neither query nor fragment');
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

/** The path of a base address; empty for the root. */
export const basePath = ({ pathname }: URL) => (pathname === '/' ? '' : pathname);
