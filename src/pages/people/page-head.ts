// The head of the pages of users and items: what search engines and link previews find. What differs between the two is
// written with the pages.

import type { Look } from '../look.ts';
import { type Markup, markup } from '../markup.ts';
import { type Person, personTitle } from './person.ts';
import type { KnownPictures } from './pictures.ts';

interface HeadLinks {
  readonly description: string;
  /** The canonical address. */
  readonly page: string | undefined;
  readonly older: string | undefined;
  readonly newer: string | undefined;
}

/** What search engines read first: the title, and where the page and those beside it are. */
export const headLinks = (title: string, { description, page, older, newer }: HeadLinks) =>
  markup`<title>${title}</title>
    <meta name="description" content="${description}">
    ${page && markup`<link rel="canonical" href="${page}">`}
    ${older && markup`<link rel="next" href="${older}">`}
    ${newer && markup`<link rel="prev" href="${newer}">`}`;

interface LinkPreview extends Pick<HeadLinks, 'description' | 'page'> {
  readonly type: 'profile' | 'article';
  readonly title: string;
}

/** What other sites show of a link to the page; `own` is what pages of this type alone have. */
export const linkPreview = (look: Look, { type, title, description, page }: LinkPreview, own: Markup) =>
  markup`<meta property="og:type" content="${type}">
    <meta property="og:title" content="${title}">
    <meta property="og:description" content="${description}">
    <meta property="og:site_name" content="${look.name}">
    ${own}
    ${page && markup`<meta property="og:url" content="${page}">`}`;

/** Link previews draw no SVG. */
const isDrawn = (url: string) => url !== '' && !/\.svgz?$/i.test(new URL(url).pathname);

/** What a link preview shows: the newest work, or else the cover, in large; or else the avatar. */
export function previewPicture(person: Person, pictures?: KnownPictures): Markup {
  const work = person.items.find(({ image }) => isDrawn(image));
  const large = work?.image ?? [person.cover].find(isDrawn);
  const shown = large ?? [person.avatar].find(isDrawn);
  const { width, height } = pictures?.get(shown ?? '') ?? {};
  return markup`${
    shown &&
    markup`<meta property="og:image" content="${shown}">
    ${
      width &&
      markup`<meta property="og:image:width" content="${width}">
    <meta property="og:image:height" content="${height}">`
    }
    <meta property="og:image:alt" content="${work?.title || personTitle(person)}">`
  }
    <meta name="twitter:card" content="${large ? 'summary_large_image' : 'summary'}">`;
}
