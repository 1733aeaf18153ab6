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

/** An accent colour on light or dark pages, and two paler ones for the edges of the case. */
interface Accent {
  readonly glass: string;
  readonly edge: string;
  readonly faint: string;
}
type Accents = Record<'light' | 'dark', Accent>;

/** The background with the least contrast, and the colour that leads away from it. */
const THEMES = {
  light: { background: '#e7edeb', pane: '#ffffff', away: '#000000' },
  dark: { background: '#131a18', pane: '#131a18', away: '#ffffff' },
} as const;
type Theme = keyof typeof THEMES;

/** WCAG 2, 1.4.3. */
const LEAST_CONTRAST = 4.5;
const GOOD_CONTRAST = 7;

/** `#0c6b5b`, or two for light and dark pages; the second is made from the first if it is not given. */
export function accent(text: string): Accents {
  const [light = '', dark, ...others] = text.split(',').map((part) => part.trim().toLowerCase());
  if (others.length > 0 || ![light, dark ?? light].every((colour) => /^#[\da-f]{6}$/.test(colour)))
    throw new Mistake('must be a colour such as #0c6b5b, or two with a comma for light and dark pages');
  return {
    light: accentOn('light', light),
    dark: accentOn('dark', dark ?? untilReadable(light, 'dark', GOOD_CONTRAST)),
  };
}

function accentOn(theme: Theme, glass: string): Accent {
  const { background, pane } = THEMES[theme];
  if (contrast(glass, background) < LEAST_CONTRAST)
    throw new Mistake(
      `must have a contrast of ${LEAST_CONTRAST}:1 with ${theme} pages, such as ${untilReadable(glass, theme, LEAST_CONTRAST)}`,
    );
  return { glass, edge: mixed(pane, glass, 0.3), faint: mixed(pane, glass, 0.14) };
}

function untilReadable(colour: string, theme: Theme, ratio: number): string {
  const { background, away } = THEMES[theme];
  for (let share = 0; share < 1; share += 0.02) {
    const candidate = mixed(colour, away, share);
    if (contrast(candidate, background) >= ratio) return candidate;
  }
  return away;
}

const channels = (colour: string) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

function mixed(one: string, two: string, share: number): string {
  const other = channels(two);
  const parts = channels(one).map((value, index) => value + ((other[index] as number) - value) * share);
  return `#${parts.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`;
}

function luminance(colour: string): number {
  const [red, green, blue] = channels(colour).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, two: string): number {
  const [low, high] = [luminance(one), luminance(two)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}
