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

/** In place of pictures that cannot be drawn: frames on a wall. It is one for all, so no takedown has to know it. */
export const SITE_PICTURE = 'preview.png';
const SITE_PICTURE_SIZE = { width: 1200, height: 630 };

interface PreviewSource {
  readonly look: Look;
  /** Where the server is, if that is known. */
  readonly origin: string | undefined;
  readonly pictures: KnownPictures | undefined;
}

/** What a link preview shows: the newest work, or else the cover, in large; or else the avatar; or else a picture of the site. */
function choosePicture(person: Person, { look, origin, pictures }: PreviewSource) {
  const work = person.items.find(({ image }) => isDrawn(image));
  const large = work?.image ?? [person.cover].find(isDrawn);
  const address = large ?? [person.avatar].find(isDrawn);
  if (address === undefined && origin !== undefined)
    return { address: `${origin}/${SITE_PICTURE}`, ...SITE_PICTURE_SIZE, alt: look.name, isLarge: true };
  const { width, height } = pictures?.get(address ?? '') ?? {};
  return { address, width, height, alt: work?.title || personTitle(person), isLarge: large !== undefined };
}

export function previewPicture(person: Person, source: PreviewSource): Markup {
  const { address, width, height, alt, isLarge } = choosePicture(person, source);
  return markup`${
    address &&
    markup`<meta property="og:image" content="${address}">
    ${
      width &&
      markup`<meta property="og:image:width" content="${width}">
    <meta property="og:image:height" content="${height}">`
    }
    <meta property="og:image:alt" content="${alt}">`
  }
    <meta name="twitter:card" content="${isLarge ? 'summary_large_image' : 'summary'}">`;
}
