// Pictures on the pages of people: which may be loaded, and what is shown where there is none.
import type { Config } from '../config/config.ts';
import { listMounts } from '../config/config.ts';
import { findSamplesUrl, listPictureOrigins } from '../config/media.ts';
import { Markup, markup } from './markup.ts';
import { chooseHue } from './person.ts';

/** The address to load a picture from; undefined if the page may not load it. */
export type PictureSource = (url: string) => string | undefined;

/** `root` is the way from the page to the server's root. Sample pictures load below any prefix and behind any port. */
export function createPictureSource(config: Config, root: string): PictureSource {
  const allowed = listPictureOrigins(config);
  const own = listMounts(config).flatMap(({ base }) => base.origin ?? []);
  const samples = config.databaseUrl === undefined ? findSamplesUrl(config) : undefined;
  return (url) => {
    if (url === '') return undefined;
    if (samples !== undefined && url.startsWith(samples))
      return `${root}samples/${url.slice(samples.length)}`;
    if (allowed === '*') return url;
    const { origin } = new URL(url);
    return allowed.includes(origin) || own.includes(origin) ? url : undefined;
  };
}

export interface PictureOptions {
  readonly kind: string;
  readonly width: number;
  readonly height: number;
  /** The same text has always the same hue. */
  readonly seed: string;
  readonly initials?: string;
  readonly alt?: string;
  /** On the first screen: loaded at once; the largest one first. */
  readonly priority?: 'eager' | 'high';
}

/** A picture over its initials, which stay where it cannot be loaded. */
export function picture(source: string | undefined, options: PictureOptions): Markup {
  const { kind, width, height, seed, initials, alt, priority } = options;
  const loading = {
    eager: ' loading="eager"',
    high: ' loading="eager" fetchpriority="high"',
    lazy: ' loading="lazy"',
  };
  const role = alt ? markup` role="img" aria-label="${alt}"` : undefined;
  return markup`<span class="picture ${kind} hue-${chooseHue(seed)}"${role}>${
    initials && markup`<span class="initials" aria-hidden="true">${initials}</span>`
  }${
    source &&
    markup`<img src="${source}" alt="" width="${width}" height="${height}"${new Markup(loading[priority ?? 'lazy'])} decoding="async" referrerpolicy="no-referrer">`
  }</span>`;
}
