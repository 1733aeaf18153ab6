// A person for sites that turn a link into a card: oEmbed 1.0.
import { cardImage } from './card-image.ts';
import { markup } from './markup.ts';
import { type Person, personTitle } from './person.ts';
import { PREVIEW } from './preview-image.ts';

export interface Embedding {
  /** Addresses of the page, the image of the card, and the picture for previews. */
  readonly page: string;
  readonly card: string;
  readonly picture: string;
  readonly provider: { readonly name: string; readonly url: string };
  /** What the consumer has room for, in pixels. */
  readonly maxWidth: number;
  readonly maxHeight: number;
}

/** A card in a frame, in which nothing runs, and a link; only the link where there is no room. */
export function oembed(
  person: Person,
  { page, card, picture, provider, maxWidth, maxHeight }: Embedding,
): string {
  const [, width, height] = (/ width="(\d+)" height="(\d+)"/.exec(cardImage(person)) ?? []).map(Number);
  const title = personTitle(person);
  const fits = (width ?? 0) <= maxWidth && (height ?? 0) <= maxHeight;
  const html = markup`<blockquote><a href="${page}">${title}</a></blockquote><iframe src="${card}" width="${width}" height="${height}" title="${title}" style="border:0" sandbox="" loading="lazy"></iframe>`;
  return JSON.stringify({
    version: '1.0',
    type: fits ? 'rich' : 'link',
    title,
    author_name: person.name,
    author_url: page,
    provider_name: provider.name,
    provider_url: provider.url,
    ...(PREVIEW.width <= maxWidth &&
      PREVIEW.height <= maxHeight && {
        thumbnail_url: picture,
        thumbnail_width: PREVIEW.width,
        thumbnail_height: PREVIEW.height,
      }),
    ...(fits && { html: html.text, width, height }),
  });
}
