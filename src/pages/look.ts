// The operator's own look: name, logo, accent colour and link, on every page, card and feed.

import type { Config } from '../config/settings.ts';
import { type Markup, markup } from './markup.ts';

/** The accents of our styles and images, which ACCENT replaces. */
const OURS = { light: '#0c6b5b', dark: '#67d3bd' };
/** The walls of our styles. */
const WALLS = { light: '#e7edeb', dark: '#0b1110' };
const OUR_NAME = 'Vitrine';

export type Look = ReturnType<typeof createLook>;

export function createLook({ siteName, siteLogo, siteUrl, accent, directory }: Config) {
  /** Where the logo is, seen from a page. */
  function logo(root: string): string | undefined {
    if (siteLogo === undefined) return undefined;
    return 'url' in siteLogo ? siteLogo.url : `${root}logo`;
  }
  const bars = accent ?? WALLS;

  return {
    name: siteName,
    /** Appends the site name, unless it is the default. */
    titled: (title: string) => (siteName === OUR_NAME ? title : `${title} · ${siteName}`),
    /** A style, script or image in the site's accent. */
    paint: (text: string) =>
      accent === undefined
        ? text
        : text.replaceAll(OURS.light, accent.light).replaceAll(OURS.dark, accent.dark),

    /** Where the brand leads: to the site that this belongs to, or else to its people. */
    home: (root: string): string => siteUrl ?? (directory ? `${root}people` : root),

    /** The colour of a browser's bars, and icons. Home screens have ours, too, where it is not of another colour. */
    browser: (
      root: string,
    ): Markup => markup`<meta name="theme-color" media="(prefers-color-scheme: light)" content="${bars.light}">
    <meta name="theme-color" media="(prefers-color-scheme: dark)" content="${bars.dark}">
    <link rel="icon" href="${logo(root) ?? `${root}icon.svg`}">
    ${siteLogo === undefined && accent === undefined && markup`<link rel="apple-touch-icon" href="${root}apple-touch-icon.png">`}`,

    /** Logo and name; `heading` puts the name into an element of its own. */
    brand: (root: string, href: string, name = markup`<span class="brand-name">${siteName}</span>`): Markup =>
      markup`<a class="brand" href="${href}">
        ${logo(root) === undefined ? MARK : markup`<img class="brand-logo" src="${logo(root)}" alt="" height="32">`}
        ${name}
      </a>`,

    /** A link to everybody, where there is a directory. */
    people: (root: string, name: string): Markup | undefined =>
      directory ? markup`<a href="${root}people">${name}</a>` : undefined,

    /** The explorer, seen from a page. */
    explorer: (root: string, query: Record<string, string>): string =>
      `${root}${directory ? 'explore' : ''}?${new URLSearchParams(query)}`,

    footer: (): Markup =>
      siteUrl === undefined ? markup`` : markup`<p><a href="${siteUrl}">${siteName}</a></p>`,
  };
}

const MARK = markup`<svg viewBox="0 0 32 32" aria-hidden="true">
          <path class="brand-glass" d="M5.500 4h21v18h-21z" />
          <path class="brand-glint" d="M9 9.500l4.500-4.500M9 16L19.500 5" />
          <circle class="brand-piece" cx="16" cy="16.200" r="3.800" />
          <path class="brand-plinth" d="M3 22h26v5.500H3z" />
        </svg>`;
