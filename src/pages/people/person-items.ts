// The items on a person's page: a gallery of shots, or a timeline of posts. Each leads to its own page.

import { fill, type Language } from '../languages/language.ts';
import { type Markup, markup } from '../markup.ts';
import { ratioClass } from '../ratios.ts';
import { distinctInitials } from '../web/shown.js';
import { type Extra, type Item, itemTitle, type Person } from './person.ts';
import { type PictureSource, picture } from './pictures.ts';
import { linked, outside, spoken, written } from './text.ts';

/** What the items of a page have in common. */
export interface ItemContext {
  readonly language: Language;
  readonly source: PictureSource;
  /** The address of an item's page. */
  readonly address: (item: Item) => string;
  /** The address of another user's page. */
  readonly mention: (name: string) => string;
  /** The address of a search for people; undefined where there is none, or it finds nobody. */
  readonly search?: ((text: string) => string | undefined) | undefined;
}

/** Of a phone, where two stand in a row, and of a column of a wide window. */
const TILE_SIZES = '(width < 40rem) 10rem, 22rem';
const ROW_SIZES = '(width < 40rem) 10rem, 28rem';
/** Of a shape that fills a row of a phone. */
const WIDE_SHAPE = 1.7;
const WIDE_SIZES = '(width < 40rem) 20rem, 44rem';
const LARGE_SIZES = '(width < 40rem) 20rem, 44rem';
const PHOTO_SIZES = '(width < 40rem) 20rem, 38rem';

/** Narrower pictures are not enlarged. */
const TINY = 320;

export function personItems({ noun, items }: Person, context: ItemContext): Markup {
  const { words } = context.language;
  if (items.length === 0) return markup`<p class="no-items"><bdi>${words.none[noun]}</bdi></p>`;
  return markup`<h2 class="visually-hidden">${words.latest[noun]}</h2>
      ${itemList({ noun, items }, context)}`;
}

/** `isBelow`: what stands above it fills the first screen. */
export function itemList(
  { noun, items }: Pick<Person, 'noun' | 'items'>,
  context: ItemContext,
  isBelow = false,
): Markup {
  const { words } = context.language;
  const isGallery = noun === 'shots';
  const marks = isGallery ? distinctInitials(items.map(({ title }) => title || words.untitled)) : [];
  const known = items.filter(({ image }) => context.source(image)?.known?.width).length;
  const isJustified = items.length > 1 && known * 2 > items.length;
  const hasLarge = !isJustified && items.length !== 2 && !isBelow;
  const drawn = items.map((item, nth) => {
    if (!isGallery) return post(item, context);
    const place = {
      isJustified,
      isFirst: nth === 0 && !isBelow,
      isLarge: nth === 0 && hasLarge,
      isAlone: items.length === 1,
    };
    return shot(item, marks[nth] ?? '', place, context);
  });
  const list = isGallery ? `gallery${isJustified ? ' rows' : ''}` : 'timeline';
  return markup`<ol class="${list}">${drawn}</ol>`;
}

/** In a row, a wide picture fills a phone, and in a large window it is twice as wide as others. */
function chooseSizes(
  { width, height }: { readonly width: number; readonly height: number },
  { isLarge, isJustified }: Pick<Place, 'isLarge' | 'isJustified'>,
): string {
  if (isLarge) return LARGE_SIZES;
  if (!isJustified) return TILE_SIZES;
  return width > WIDE_SHAPE * height ? WIDE_SIZES : ROW_SIZES;
}

interface Place {
  readonly isJustified: boolean;
  readonly isFirst: boolean;
  readonly isLarge: boolean;
  readonly isAlone: boolean;
}

function shot(item: Item, initials: string, place: Place, context: ItemContext): Markup {
  const { isJustified, isFirst, isAlone } = place;
  const { language } = context;
  const { id, price } = item;
  const title = item.title || language.words.untitled;
  const href = context.address(item);
  const large = context.source(item.image);
  const isLarge = place.isLarge && large !== undefined;
  // With small pictures of the large picture, there is no need of another one.
  const shown = isLarge || large?.known?.small.length ? large : context.source(item.smallImage);
  const known = large?.known?.width ? large.known : { width: 1200, height: 900 };
  const wide = isLarge ? ' large' : '';
  const shape = isJustified ? ` ${ratioClass(known)}` : wide;
  const tile = picture(shown, {
    kind: known.width < TINY ? 'tile tiny' : 'tile',
    ...(isLarge ? { width: 1200, height: 900 } : { width: 600, height: 450 }),
    sizes: chooseSizes(known, { isLarge, isJustified }),
    isSized: isAlone,
    seed: `${title} ${id}`,
    initials,
    property: 'u-photo',
    ...(isFirst && { priority: 'eager' as const }),
  });
  return markup`
        <li class="shot h-entry${shape}" id="item-${id}">
          <a class="frame" href="${href}" tabindex="-1" aria-hidden="true">${tile}</a>
          <div class="label">
            <h3${written(title)}><a class="u-url p-name" href="${href}">${title}</a></h3>${price && priceTag(price, language)}${published(item)}
          </div>
        </li>`;
}

/** `search` makes the address of a search for a tag. A tag without one is no link. */
export function tagList(
  tags: readonly string[],
  { words }: Language,
  search: ItemContext['search'] = () => undefined,
): Markup | undefined {
  if (tags.length === 0) return undefined;
  const items = tags.map((tag) => {
    const address = search(tag);
    const shown = address === undefined ? tag : markup`<a class="tag" href="${address}">${tag}</a>`;
    return markup`<li class="p-category"${spoken(tag)}>${shown}</li>`;
  });
  return markup`<ul class="tags" aria-label="${words.tags}">${items}</ul>`;
}

/** Where there is room for it, its name is shown. */
export const priceTag = (price: string, language: Language, isNamed = false): Markup =>
  markup` <span class="price"><span${!isNamed && markup` class="visually-hidden"`}>${language.words.price}: </span><bdi>${language.price(price)}</bdi></span>`;

export const extraLink = ({ kind, url }: Extra, title: string, { words }: Language): Markup =>
  markup` ${outside(url, markup`${words.kinds[kind]}<span class="visually-hidden"> ${title}</span>`)}`;

function post(item: Item, context: ItemContext): Markup {
  const { id, text, extras } = item;
  const { language, mention } = context;
  const href = context.address(item);
  const of = itemTitle(item, 'posts', language);
  return markup`
        <li class="post h-entry" id="item-${id}">
          <p class="when-line"><a class="u-url" href="${href}">${when(item, language)}</a></p>
          <article class="post-body">
            ${text && openable(text, { kind: 'post-text', of, href, mention, language, isLarge: isBrief(item) })}
            ${postPhoto(item, { href, of }, context)}
            ${extras.map((extra) => medium(extra, id, context))}
          </article>
        </li>`;
}

const BRIEF = 48;

/** A short text alone is set larger. */
export const isBrief = ({ text, smallImage, extras }: Item) =>
  text.length < BRIEF && !smallImage && extras.length === 0;

function postPhoto(
  { id, smallImage: photo }: Item,
  { href, of }: { readonly href: string; readonly of: string },
  { source, language }: ItemContext,
): Markup | undefined {
  if (photo === '') return undefined;
  const image = source(photo);
  const alt = fill(language.words.photoOf, { title: of });
  // A picture that does not come into view yet names no link.
  return markup`<a class="photo" href="${href}" aria-label="${alt}">${picture(image, { kind: image ? 'wide' : 'wide bare', width: 900, height: 600, sizes: PHOTO_SIZES, isSized: true, seed: id, alt, property: 'u-photo' })}</a>`;
}

/** A link to a video or a song. */
export function medium(
  { kind, url, title, thumbnail }: Extra,
  id: string,
  { source, language }: Pick<ItemContext, 'source' | 'language'>,
): Markup {
  const word = language.words.kinds[kind];
  const isSong = kind === 'Audio';
  const size = isSong ? { width: 160, height: 160 } : { width: 320, height: 180 };
  const content = markup`${picture(source(thumbnail), { kind: isSong ? 'thumb square' : 'thumb', seed: `${kind} ${id}`, sizes: '10rem', ...size })}
              <span class="medium-words"><bdi class="medium-title">${title || word}</bdi> <span class="medium-note">${word}</span></span>`;
  const name = `medium ${kind.toLowerCase()}`;
  return url ? outside(url, content, name) : markup`<span class="${name}">${content}</span>`;
}

/** Of more letters or lines than these, a text shows its first lines. */
const LONGEST = { bio: [500, 8], 'post-text': [700, 12] } as const;

interface Openable {
  readonly language: Language;
  readonly kind: keyof typeof LONGEST;
  readonly of: string;
  /** The page with the whole text. Without one, a control opens it in its place. */
  readonly href?: string;
  readonly mention?: (name: string) => string;
  readonly isLarge?: boolean;
}

export function openable(
  text: string,
  { kind, of, href, mention, isLarge, language: { words } }: Openable,
): Markup {
  const [letters, lines] = LONGEST[kind];
  const isLong = text.length > letters || text.split('\n', lines + 1).length > lines;
  const property = kind === 'bio' ? 'p-note' : 'e-content';
  return markup`<p class="${kind === 'post-text' ? 'words post-text' : kind} ${property}${isLarge && ' brief'}${isLong && ' long-text'}"${written(text)}>${linked(text, mention)}</p>${
    isLong &&
    (href === undefined
      ? markup`
            <details class="more"><summary><span class="open">${words.more}<span class="visually-hidden">: ${of}</span></span><span class="close">${words.less}</span></summary></details>`
      : markup`
            <a class="more" href="${href}">${words.more}<span class="visually-hidden">: ${of}</span></a>`)
  }`;
}

export const when = (item: Item, language: Language): Markup =>
  published(item, language.date(item.date)) ?? markup`<span>${language.words.undated}</span>`;

/** The date as microformats have it. A tile has no room for a date that people read: the item's page shows it. */
const published = ({ date }: Item, shown = ''): Markup | undefined =>
  date.startsWith('1970-01-01T00:00:00')
    ? undefined
    : markup`<time class="dt-published" datetime="${date}">${shown}</time>`;
