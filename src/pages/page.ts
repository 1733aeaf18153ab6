// What pages of people and of the directory have in common: head, header and foot; and the page of what is not there.

import type { Config } from '../config/settings.ts';
import { type Direction, findLanguage } from './languages/language.ts';
import { createLook } from './look.ts';
import { type Markup, markup } from './markup.ts';
import { fileAddress } from './page-files.ts';
import { TRANSITION } from './page-headers.ts';

export interface PageLink {
  readonly name: string;
  readonly href: string;
}

interface Page {
  readonly head: Markup;
  readonly main: Markup;
  readonly name: string;
  readonly links?: Markup;
  readonly direction?: Direction;
  readonly footer?: Markup;
}

/** Lays pages out, with `root` as the way to the server's root; what they have in common is written once. */
export function createLayout(config: Config, root: string) {
  const look = createLook(config);
  const { code, direction: own, words } = findLanguage(config);
  const people = look.people(root, words.people);
  let files: Markup | undefined;
  const end = () =>
    (files ??= markup`<meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    ${look.browser(root)}
    <style>${TRANSITION}</style>
    <link rel="stylesheet" href="${root}${fileAddress(config, 'person.css')}">`);
  const brand = look.brand(root, look.home(root));
  const footer = look.footer();
  return ({ head, main, name, links, direction = own, footer: more }: Page): string =>
    markup`<!doctype html>
<html lang="${code}" dir="${own}">
  <head>
    <meta charset="utf-8">
    ${head}
    ${end()}
  </head>
  <body class="${name}">
    <a class="skip" href="#main">${words.skip}</a>
    <header class="top">
      ${brand}
      ${(links || people) && markup`<nav aria-label="${words.site}">${people} ${links}</nav>`}
    </header>
    <main id="main" dir="${direction}" tabindex="-1">${main}</main>
    ${
      (more || config.siteUrl) &&
      markup`<footer>
      ${footer}
      ${more}
    </footer>`
    }
  </body>
</html>
`.text;
}

export interface MissingPage {
  readonly title: string;
  readonly lead: string | Markup;
  readonly links?: readonly PageLink[];
}

/** The empty case, with a way on. `root` is the way from the address that was asked for. */
export const missingPage = (config: Config, root: string, { title, lead, links = [] }: MissingPage): string =>
  createLayout(
    config,
    root,
  )({
    name: 'missing',
    head: markup`<title>${createLook(config).titled(title)}</title>
    <meta name="robots" content="noindex">`,
    main: markup`
      <div class="notice">
        ${EMPTY_CASE}
        <h1 dir="auto">${title}</h1>
        <p>${lead}</p>
        ${links.length > 0 && markup`<ul class="suggestions">${links.map(({ name, href }) => markup`<li><a href="${href}"><bdi>${name}</bdi></a></li>`)}</ul>`}
        <p><a href="${root}">${findLanguage(config).words.toStart}</a></p>
      </div>`,
  });

export const EMPTY_CASE = markup`<svg class="empty-case" viewBox="0 0 240 190" aria-hidden="true">
          <path class="beam" d="M106 24h28l46 110H60z" />
          <path class="glass" d="M50 22h140v112H50z" />
          <path class="glint" d="M64 62l28-28M64 96l62-62" />
          <path class="stand" d="M100 134v-14h40v14z" />
          <path class="base" d="M36 134h168v12H36z" />
          <path class="leg" d="M50 146h140v34H50z" />
          <path class="plate" d="M98 157h44v12H98z" />
        </svg>`;
