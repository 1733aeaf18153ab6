// The page of one item: its picture as large as the window, all of its text, and the ways to its neighbours and its maker.

import type { CreativeWork, WithContext } from 'schema-dts';
import type { Mount } from '../../config/mount.ts';
import type { Config } from '../../config/settings.ts';
import { searchKey } from '../../records/search-words.ts';
import { fill, findLanguage, type Language } from '../languages/language.ts';
import { createLook } from '../look.ts';
import { fillMarkup, jsonBlock, type Markup, markup } from '../markup.ts';
import { createLayout } from '../page.ts';
import { takeInitials } from '../web/shown.js';
import { headLinks, linkPreview, previewPicture } from './page-head.ts';
import {
  type Item,
  itemTitle,
  LONGEST_TITLE,
  type Person,
  personTitle,
  shortened,
  textDirection,
} from './person.ts';
import {
  extraLink,
  type ItemContext,
  isBrief,
  itemList,
  medium,
  priceTag,
  tagList,
  when,
} from './person-items.ts';
import {
  byline,
  canonicalPage,
  forDevelopers,
  LONGEST_DESCRIPTION,
  navigation,
  type PagePlace,
  searchAddress,
} from './person-page.ts';
import { createPictureSource, type KnownPictures, type PictureSource, picture } from './pictures.ts';
import { linked, written } from './text.ts';

/** An item of a person, and the ids of those beside it. */
export interface ItemView {
  /** With this item only. */
  readonly person: Person;
  readonly item: Item;
  readonly newer?: string | undefined;
  readonly older?: string | undefined;
  /** The newest of their other items. */
  readonly others?: readonly Item[];
  /** The tags by which a search finds the person, as `searchKey` writes them. */
  readonly searched?: ReadonlySet<string>;
  readonly pictures?: KnownPictures;
}

const ROOT = '../../../';

export function createItemPage(config: Config, mount: Mount): (view: ItemView) => string {
  const findSource = createPictureSource(config, ROOT);
  const look = createLook(config);
  const layout = createLayout(config, ROOT);
  const language = findLanguage(config);
  const place = { config, mount, look, language };
  return (view) => {
    const { person, item } = view;
    const { noun, username } = person;
    const source = findSource(view.pictures);
    const segment = encodeURIComponent(username);
    const context = {
      source,
      language,
      address: ({ id }: Item) => id,
      mention: (name: string) => `../${encodeURIComponent(name)}`,
      search: config.directory ? (tag: string) => findSearch(mount, view, tag) : undefined,
    };
    const explorer = look.explorer(ROOT, { variant: mount.variant, user: username });
    return layout({
      head: itemHead(place, view),
      links: navigation(`../${segment}`, language),
      name: `single ${noun}`,
      direction: textDirection(`${item.title} ${item.text}`),
      main: markup`
      <article class="h-entry${isBeside(item, source) && ' beside'}">
        ${byline(person, source, `../${segment}`)}
        ${noun === 'shots' && item.image && work(item, item.image, item.title, source)}
        <div class="sheet">
          ${noun === 'shots' ? shotText(item, context) : postText(item, context)}
          <p class="foot"><a class="u-url" href="${item.id}">${when(item, language)}</a>${item.price && priceTag(item.price, language, true)}${noun === 'shots' && item.extras.map((extra) => extraLink(extra, item.title, language))}</p>
        </div>
      </article>
      ${neighbours(view, language)}
      ${moreBy(view, context)}
    `,
      footer: forDevelopers(explorer, language),
    });
  };
}

/** Tags of older items may lead to nobody, and then they are no links. */
const findSearch = ({ variant }: Mount, { searched }: ItemView, tag: string) =>
  searched?.has(searchKey(tag)) ? searchAddress(`../../${variant}`, tag) : undefined;

/** A work of this shape leaves room for words beside it. */
const WIDEST_BESIDE = 1.8;

function isBeside({ image }: Item, source: PictureSource): boolean {
  const { width, height } = source(image)?.known ?? { width: 0, height: 0 };
  return width > 0 && width < WIDEST_BESIDE * height;
}

/** Leads on to other items of the person. */
function moreBy({ person, others = [] }: ItemView, context: ItemContext): Markup | undefined {
  if (others.length === 0) return undefined;
  const { name, noun, username } = person;
  const link = markup`<a href="../${encodeURIComponent(username)}"><bdi>${shortened(name, LONGEST_TITLE)}</bdi></a>`;
  return markup`<section class="more-by">
        <h2>${fillMarkup(context.language.words.moreBy, { name: link })}</h2>
        ${itemList({ noun, items: others }, context, true)}
      </section>`;
}

function itemHead({ config, mount, look, language }: PagePlace, view: ItemView): Markup {
  const { person, item, newer, older, pictures } = view;
  const title = itemTitle(item, person.noun, language);
  const profile = canonicalPage(config, mount, person);
  const page = profile && `${profile}/${item.id}`;
  const description = shortened(
    item.text || fill(language.words.itemBy, { title, name: person.name }),
    LONGEST_DESCRIPTION,
  );
  const published = markup`<meta property="article:published_time" content="${item.date}">`;
  return markup`${headLinks(look.titled(`${title} – ${personTitle(person)}`), { description, page, older, newer })}
    ${linkPreview(look, { type: 'article', title, description, page }, published)}
    ${previewPicture(person, { look, origin: mount.base.origin, pictures })}
    <script type="application/ld+json">${jsonBlock(linkedData(person, item, title, { page, profile }))}</script>`;
}

interface Addresses {
  readonly page: string | undefined;
  readonly profile: string | undefined;
}

function linkedData(
  { name, username, avatar }: Person,
  { text, date, image, tags }: Item,
  title: string,
  { page, profile }: Addresses,
): WithContext<CreativeWork> {
  return {
    '@context': 'https://schema.org',
    '@type': 'CreativeWork',
    ...(page && { '@id': page, url: page }),
    name: title,
    ...(text && { description: shortened(text, LONGEST_DESCRIPTION) }),
    datePublished: date,
    ...(image && { image }),
    ...(tags.length > 0 && { keywords: tags.join(', ') }),
    author: {
      '@type': 'Person',
      name,
      alternateName: username,
      ...(profile && { url: profile }),
      ...(avatar && { image: avatar }),
    },
  };
}

const shotText = (
  { title, text, tags }: Item,
  { language, search }: Pick<ItemContext, 'language' | 'search'>,
) => markup`<h1${written(title)} class="p-name">${title || language.words.untitled}</h1>
          ${text && markup`<p class="words e-content"${written(text)}>${linked(text)}</p>`}
          ${tagList(tags, language, search)}`;

function postText(item: Item, context: Pick<ItemContext, 'source' | 'language'>): Markup {
  const { source, language } = context;
  const { id, text, smallImage, extras } = item;
  const mention = (name: string) => `../${encodeURIComponent(name)}`;
  return markup`<h1 class="visually-hidden">${itemTitle(item, 'posts', language)}</h1>
          ${text && markup`<p class="words post-text e-content${isBrief(item) && ' brief'}"${written(text)}>${linked(text, mention)}</p>`}
          ${smallImage && work(item, smallImage, language.words.photo, source)}
          ${extras.map((extra) => medium(extra, id, context))}`;
}

/** The picture, which leads to its file. */
function work(item: Item, url: string, alt: string, source: PictureSource): Markup {
  const found = source(url);
  const drawn = picture(found, {
    kind: 'work',
    isSized: true,
    width: 1200,
    height: 900,
    sizes: '(width < 40rem) 20rem, (width < 72rem) 96vw, 70rem',
    priority: 'high',
    property: 'u-photo',
    seed: `${item.title} ${item.id}`,
    initials: takeInitials(item.title),
    alt,
  });
  return found
    ? markup`<a class="frame" href="${found.url}">${drawn}</a>`
    : markup`<span class="frame">${drawn}</span>`;
}

const neighbours = (
  { person, newer, older }: ItemView,
  { words }: Language,
) => markup`<nav class="pages" aria-label="${words.pages}">
        ${newer && markup`<a rel="prev" href="${newer}">${words.newerItem}</a>`}
        <a rel="up" href="../${encodeURIComponent(person.username)}">${words.all[person.noun]}</a>
        ${older && markup`<a rel="next" href="${older}">${words.olderItem}</a>`}
      </nav>`;
