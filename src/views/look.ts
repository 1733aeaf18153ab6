// The operator's own look: name, logo, accent colour and link, on every page, card and feed.
import type { Config } from '../config/config.ts';
import { type Markup, markup } from './markup.ts';

/** The accents of our styles and images, which ACCENT replaces. */
const OURS = {
  light: { glass: '#0c6b5b', edge: '#b9d6cd', faint: '#dcebe6' },
  dark: { glass: '#67d3bd', edge: '#2c5a4e', faint: '#17302a' },
} as const;
const OUR_NAME = 'Vitrine';

export type Look = ReturnType<typeof createLook>;

export function createLook({ siteName, siteLogo, siteUrl, accent }: Config) {
  const colours = (['light', 'dark'] as const).flatMap((theme) =>
    (['glass', 'edge', 'faint'] as const).map((part) => [OURS[theme][part], accent?.[theme][part]] as const),
  );
  /** Where the logo is, seen from a page. */
  const logo = (root: string) =>
    siteLogo === undefined ? undefined : 'url' in siteLogo ? siteLogo.url : `${root}logo`;

  return {
    name: siteName,
    /** Says which site it is, unless it is nobody's own. */
    titled: (title: string) => (siteName === OUR_NAME ? title : `${title} · ${siteName}`),
    /** A style, script or image in the site's accent. */
    paint: (text: string) =>
      colours.reduce(
        (painted, [ours, theirs]) => (theirs ? painted.replaceAll(ours, theirs) : painted),
        text,
      ),

    icon: (root: string): Markup => markup`<link rel="icon" href="${logo(root) ?? `${root}icon.svg`}">`,

    /** Logo and name; `heading` puts the name into an element of its own. */
    brand: (root: string, href: string, name = markup`<span class="brand-name">${siteName}</span>`): Markup =>
      markup`<a class="brand" href="${href}">
        ${logo(root) === undefined ? MARK : markup`<img class="brand-logo" src="${logo(root)}" alt="" height="32">`}
        ${name}
      </a>`,

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
