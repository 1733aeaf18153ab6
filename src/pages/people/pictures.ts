// Pictures on the pages of people: which may be loaded, in which sizes, and what is shown where there is none.

import { findSamplesUrl } from '../../config/addresses.ts';
import { servesSamples } from '../../config/database-url.ts';
import { listPictureOrigins } from '../../config/media.ts';
import type { Config } from '../../config/settings.ts';
import { listMounts } from '../../config/settings.ts';
import { SMALL_WIDTHS } from '../../records/copy-files.ts';
import { type Markup, markup } from '../markup.ts';
import { ratioClass } from '../ratios.ts';
import { chooseHue } from '../web/shown.js';

/** A copy of ours, of which small pictures were made. */
export interface KnownPicture {
  readonly width: number;
  readonly height: number;
  /** The mean as `rrggbb`; null where the picture lets its background through. */
  readonly color: string | null;
  readonly small: readonly { readonly url: string; readonly width: number }[];
}

/** Pictures by their addresses. */
export type KnownPictures = ReadonlyMap<string, KnownPicture>;

interface Source {
  readonly url: string;
  readonly known: KnownPicture | undefined;
}

/** How a picture is loaded; undefined if the page may not load it. */
export type PictureSource = (url: string) => Source | undefined;

/** `root` is the way from the page to the server's root. Sample pictures load below any prefix and behind any port. */
export function createPictureSource(config: Config, root: string): (known?: KnownPictures) => PictureSource {
  const allowed = listPictureOrigins(config);
  const own = listMounts(config).flatMap(({ base }) => base.origin ?? []);
  const samples = servesSamples(config) ? findSamplesUrl(config) : undefined;

  function find(url: string): string | undefined {
    if (url === '') return undefined;
    if (samples !== undefined && url.startsWith(samples))
      return `${root}samples/${url.slice(samples.length)}`;
    if (allowed === '*') return url;
    const { origin } = new URL(url);
    return allowed.includes(origin) || own.includes(origin) ? url : undefined;
  }

  return (known) => (url) => {
    const found = find(url);
    return found === undefined ? undefined : { url: found, known: known?.get(url) };
  };
}

export interface PictureOptions {
  readonly kind: string;
  /** Of the place, where the picture's own size is not known. */
  readonly width: number;
  readonly height: number;
  /** How wide it is shown. For a phone with three pixels to a point it is so little that it takes a small picture. */
  readonly sizes: string;
  /** It takes the room of its own size, where that is known. */
  readonly isSized?: boolean;
  /** The same text has always the same hue. */
  readonly seed: string;
  readonly initials?: string;
  readonly alt?: string;
  /** Microformats. */
  readonly property?: string;
  /** On the first screen: loaded at once; the largest one first. */
  readonly priority?: 'eager' | 'high';
}

const LOADING = {
  eager: undefined,
  high: markup` fetchpriority="high"`,
  lazy: markup` loading="lazy"`,
};

/** A picture over its colour; where there is none, or it cannot be loaded, its initials. */
export function picture(source: Source | undefined, options: PictureOptions): Markup {
  const { kind, seed, initials = '', alt = '', property, priority = 'lazy' } = options;
  const hue = `hue-${chooseHue(seed)}`;
  if (source === undefined) {
    const role = alt && markup` role="img" aria-label="${alt}"`;
    return markup`<span class="picture empty ${kind} ${hue}"${role}>${initials && markup`<span class="initials" aria-hidden="true">${initials}</span>`}</span>`;
  }
  const { known } = source;
  const color = known?.color ?? undefined;
  const shape = options.isSized && known?.width && ` sized ${ratioClass(known)}`;
  const isLight = (known !== undefined && known.small.length > 0) || source.url.endsWith('.svg');
  return markup`<span class="picture ${kind} ${hue}${shape}${!isLight && ' original'}">${
    // Styles within the page are forbidden; this is an attribute.
    color &&
    markup`<svg class="tint" aria-hidden="true"><rect width="100%" height="100%" fill="#${color}"/></svg>`
  }<img${property && markup` class="${property}"`} src="${source.url}"${sizesOf(source, options)} alt="${alt}"${initials && markup` data-initials="${initials}"`}${LOADING[priority]}></span>`;
}

const WIDEST = Math.max(...SMALL_WIDTHS);

function sizesOf({ url, known }: Source, { width, height, sizes }: PictureOptions): Markup {
  if (!known?.width) return markup` width="${width}" height="${height}"`;
  const size = markup` width="${known.width}" height="${known.height}"`;
  if (known.small.length === 0) return size;
  // A narrow copy has its own width in the last one.
  const offered = known.small.map((one) => ({ url: one.url, width: Math.min(one.width, known.width) }));
  const widest = offered.at(-1)?.width ?? 0;
  // Beyond the widest, the copy itself may have megabytes, and no page shows a picture much wider.
  const isNeeded = widest < Math.min(known.width, WIDEST);
  const all = isNeeded ? [...offered, { url, width: known.width }] : offered;
  return markup` srcset="${all.map((one) => `${one.url} ${one.width}w`).join(', ')}" sizes="${sizes}"${size}`;
}
