// Parsers of the settings of a site's own look: name, logo and accent colour.
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { absoluteUrl, Mistake } from './setting-values.ts';

const LONGEST_NAME = 60;

export function siteName(text: string): string {
  if (text.length > LONGEST_NAME || /\p{Cc}/u.test(text) || !/[\p{L}\p{N}\p{P}\p{S}]/u.test(text))
    throw new Mistake(`must be one line of at most ${LONGEST_NAME} characters`);
  return text;
}

const LOGO_TYPES: Record<string, string> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
};
const LARGEST_LOGO = 256 * 1024;

/** A picture that is served from memory, or the URL of one on another host. */
export type Logo = { readonly url: string } | { readonly type: string; readonly bytes: Buffer };

export function logo(text: string): Logo {
  if (/^https?:\/\//i.test(text)) {
    absoluteUrl(text);
    return { url: new URL(text).href };
  }
  const type = LOGO_TYPES[extname(text).toLowerCase()];
  if (type === undefined)
    throw new Mistake('must be an http(s) URL, or a file that is SVG, PNG, WebP or JPEG');
  let bytes: Buffer;
  try {
    bytes = readFileSync(text);
  } catch (error) {
    throw new Mistake(`must be a file that can be read (${(error as NodeJS.ErrnoException).code})`);
  }
  if (bytes.length > LARGEST_LOGO) throw new Mistake(`must be a file of at most ${LARGEST_LOGO / 1024} KiB`);
  return { type, bytes };
}

/** `#0c6b5b`, or two for light and dark pages. Styles make readable shades of it for text. */
export function accent(text: string): Readonly<Record<'light' | 'dark', string>> {
  const [light = '', dark = light, ...others] = text.split(',').map((part) => part.trim().toLowerCase());
  if (others.length > 0 || ![light, dark].every((colour) => /^#[\da-f]{6}$/.test(colour)))
    throw new Mistake('must be a colour such as #0c6b5b, or two with a comma for light and dark pages');
  return { light, dark };
}
