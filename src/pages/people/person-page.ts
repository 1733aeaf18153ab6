// The page of one user, and the pages for names that no user has. They need no script: what is in them is all there is.

import type { ProfilePage, WithContext } from 'schema-dts';
import type { Mount } from '../../config/mount.ts';
import { type Config, canonicalVariant } from '../../config/settings.ts';
import { lookupAddresses, VARIANTS } from '../../variants.ts';
import { fill, findLanguage, type Language } from '../languages/language.ts';
import { createLook, type Look } from '../look.ts';
import { jsonBlock, type Markup, markup } from '../markup.ts';
import { createLayout, type MissingPage, type PageLink } from '../page.ts';
import { takeInitials } from '../web/shown.js';
import { headLinks, linkPreview, previewPicture } from './page-head.ts';
import { findDirection, type Item, LONGEST_TITLE, type Person, personTitle, shortened } from './person.ts';
import { type ItemContext, openable, personItems, tagList } from './person-items.ts';
import { createPictureSource, type KnownPictures, type PictureSource, picture } from './pictures.ts';
import { shownUrl, written } from './text.ts';

export const LONGEST_DESCRIPTION = 200;

/** What a page of a person shows besides their newest items. */
export interface Extent {
  readonly pictures?: KnownPictures;
  /** The items of this page are older than this one. */
  readonly before?: string | undefined;
  /** The addresses of the next and the previous page. */
  readonly older?: string | undefined;
  readonly newer?: string | undefined;
}

export function createPersonPage(config: Config, mount: Mount) {
  const root = '../../';
  const findSource = createPictureSource(config, root);
  const look = createLook(config);
  const layout = createLayout(config, root);
  const language = findLanguage(config);
  const place = { config, mount, look, language };
  const { card } = language.words;
  return (person: Person, extent: Extent = {}): string => {
    const { username, noun } = person;
    const segment = encodeURIComponent(username);
    const context = {
      language,
      source: findSource(extent.pictures),
      address: ({ id }: Item) => `${segment}/${id}`,
      mention: encodeURIComponent,
      search: config.directory ? (text: string) => searchAddress(`../${mount.variant}`, text) : undefined,
    };
    const explorer = look.explorer(root, { variant: mount.variant, user: username });
    return layout({
      head: personHead(place, person, extent),
      links: navigation(encodeURIComponent(username), language),
      main: (extent.before === undefined ? personMain : olderMain)(person, context, extent),
      name: noun,
      direction: findDirection(person),
      footer: markup`<p>${card[0]}<a href="${explorer}#card">${card[1]}</a>${card[2]}</p>
      ${forDevelopers(explorer, language)}`,
    });
  };
}

/** `directory` is the way to the list of people. */
export const searchAddress = (directory: string, text: string) =>
  `${directory}?${new URLSearchParams({ q: text })}`;

/** For a name that no user has, or that of a user who was taken down. */
export function missingPerson(
  name: string,
  isRemoved: boolean,
  links: readonly PageLink[],
  { words }: Language,
): MissingPage {
  const values = { name: shortened(name, LONGEST_TITLE) };
  const hasLinks = links.length > 0;
  return isRemoved
    ? { title: fill(words.removed, values), lead: hasLinks ? words.takenDownOr : words.takenDown, links }
    : {
        title: fill(words.noUser, values),
        lead: hasLinks ? words.checkSpellingOr : words.checkSpelling,
        links,
      };
}

/** The absolute address of a person's page. */
export const canonicalPage = (config: Config, mount: Mount, { username }: Person): string | undefined =>
  mount.base.origin &&
  `${mount.base.origin}/people/${canonicalVariant(config, mount)}/${encodeURIComponent(username)}`;

/** Where pages stand, and how they look. */
export interface PagePlace {
  readonly config: Config;
  readonly mount: Mount;
  readonly look: Look;
  readonly language: Language;
}

/** What search engines, link previews and feed readers find. */
function personHead(
  { config, mount, look, language: { words } }: PagePlace,
  person: Person,
  extent: Extent,
): Markup {
  const { before, older, newer, pictures } = extent;
  const { variant, base } = mount;
  const segment = encodeURIComponent(person.username);
  const title = personTitle(person);
  const description = shortened(
    person.bio || fill(words.latestOf[person.noun], { name: person.name }),
    LONGEST_DESCRIPTION,
  );
  const profile = canonicalPage(config, mount, person);
  const page = profile && before !== undefined ? `${profile}?before=${before}` : profile;
  const api = lookupAddresses(VARIANTS[variant].style, base.path, person.username).profile.slice(1);
  const feeds = `../../feeds/${variant}/${segment}`;
  const tabTitle = look.titled(
    before === undefined ? title : fill(words.olderOf[person.noun], { name: title }),
  );
  const username = markup`<meta property="profile:username" content="${person.username}">`;
  return markup`${headLinks(tabTitle, { description, page, older, newer })}
    <link rel="alternate" type="application/json" href="../../${api}">
    <link rel="alternate" type="application/atom+xml" title="${title}" href="${feeds}.atom">
    <link rel="alternate" type="application/feed+json" title="${title}" href="${feeds}.json">
    ${profile && markup`<link rel="alternate" type="application/json+oembed" title="${title}" href="${base.origin}/oembed?${String(new URLSearchParams({ url: `${base.origin}/people/${variant}/${segment}`, format: 'json' }))}">`}
    ${linkPreview(look, { type: 'profile', title, description, page }, username)}
    ${previewPicture(person, { look, origin: base.origin, pictures })}
    ${before === undefined && markup`<script type="application/ld+json">${jsonBlock(linkedData(person, page))}</script>`}`;
}

const ACTIONS: Readonly<Record<string, 'FollowAction' | 'LikeAction'>> = {
  followers: 'FollowAction',
  likes: 'LikeAction',
};

/** The types hold it against the vocabulary of schema.org. */
function linkedData(
  { id, name, username, bio, avatar, links, items, counts }: Person,
  page: string | undefined,
): WithContext<ProfilePage> {
  const newest = items[0]?.date;
  const statistics = counts.flatMap(([label, digits]) => {
    const action = ACTIONS[label];
    return action === undefined || !/^[1-9]\d{0,14}$/.test(digits)
      ? []
      : [
          {
            '@type': 'InteractionCounter' as const,
            interactionType: { '@type': action },
            userInteractionCount: Number(digits),
          },
        ];
  });
  return {
    '@context': 'https://schema.org',
    '@type': 'ProfilePage',
    ...(page && { '@id': page, url: page }),
    ...(newest && { dateModified: newest }),
    mainEntity: {
      '@type': 'Person',
      name,
      ...(page && { url: page }),
      alternateName: username,
      identifier: id,
      ...(bio && { description: bio }),
      ...(avatar && { image: avatar }),
      ...(links.length > 0 && { sameAs: links }),
      ...(statistics.length > 0 && { interactionStatistic: statistics }),
    },
  };
}

/** `page` is the way to the person's own page. */
export const navigation = (page: string, { words }: Language): Markup =>
  markup`<a href="${page}/follow" title="${words.followHint}">${words.follow}</a>`;

/** At the foot of a page: no visitor stumbles over it, and a developer looks there. */
export const forDevelopers = (explorer: string, { words: { developers } }: Language): Markup =>
  markup`<p>${developers[0]}<a href="${explorer}">${developers[1]}</a>${developers[2]}</p>`;

/** Such names would take the height of the screen, and such words the width of a phone. */
const LONG_NAME = /^.{41}|[\p{L}\p{N}]{12}/su;

/** The profile in its case, and below it the items. */
function personMain(person: Person, context: ItemContext, extent: Extent): Markup {
  const { name, username, bio, verified, noun, avatar, smallAvatar, skills } = person;
  const { source, language } = context;
  const { words } = language;
  const large = source(avatar);
  const avatarPicture = picture(large?.known ? large : source(smallAvatar), {
    kind: 'avatar',
    width: 160,
    height: 160,
    sizes: '10rem',
    priority: 'eager',
    property: 'u-photo',
    seed: username,
    initials: takeInitials(name),
  });
  const places = listPlaces(person, language);
  return markup`
      <div class="h-feed">
      <div class="p-author h-card">
        <div class="case">
          ${coverPicture(person, source)}
          <div class="plinth">
            ${avatarPicture}
            <div class="plate${LONG_NAME.test(name) && ' long'}">
              <h1${written(name)}><a class="p-name u-url u-uid" href="${encodeURIComponent(username)}">${name}</a>${verified && markup`<span class="verified" role="img" aria-label="${words.verified}" title="${words.verified}"></span>`}</h1>
              <p class="handle"><bdi>@<span class="p-nickname">${username}</span></bdi></p>
            </div>
            ${counts(person, language)}
          </div>
        </div>
        <div class="about">
          ${bio && openable(bio, { kind: 'bio', of: name, language, ...(noun === 'posts' && { mention: context.mention }) })}
          ${places.length > 0 && markup`<p class="places">${places}</p>`}
          ${tagList(skills, language, context.search)}
        </div>
      </div>
      ${personItems(person, context)}
      </div>
      ${pageLinks(noun, extent, context.language)}
    `;
}

/** Where there is no cover, the second newest shot, if a copy of it has small pictures: the newest is large below. */
function coverPicture({ noun, cover, items, username }: Person, source: PictureSource): Markup {
  const isGallery = noun === 'shots';
  const work = isGallery && items.length > 2 ? source(items[1]?.image ?? '') : undefined;
  return picture(source(cover) ?? (work?.known?.small.length ? work : undefined), {
    kind: 'cover',
    width: 1600,
    height: isGallery ? 267 : 240,
    sizes: '(width < 40rem) 20rem, (width < 72rem) 100vw, 72rem',
    priority: 'high',
    seed: `${username} cover`,
  });
}

/** A further page of items, under a smaller heading. */
function olderMain(person: Person, context: ItemContext, extent: Extent): Markup {
  const { name, username, noun } = person;
  const { words } = context.language;
  return markup`
      ${byline(person, context.source, encodeURIComponent(username))}
      <h1 class="of" title="${fill(words.olderOf[noun], { name })}">${words.older[noun]}</h1>
      ${personItems(person, context)}
      ${pageLinks(noun, extent, context.language)}
    `;
}

/** Leads from a page that is about something else to the person. */
export function byline({ name, username, smallAvatar }: Person, source: PictureSource, href: string): Markup {
  const avatar = picture(source(smallAvatar), {
    kind: 'face',
    width: 64,
    height: 64,
    sizes: '3.5rem',
    priority: 'eager',
    seed: username,
    initials: takeInitials(name),
  });
  return markup`<p class="byline p-author h-card"><a class="u-url" rel="author" href="${href}">${avatar}<span class="who"><span class="name p-name"${written(name)}>${shortened(name, 60)}</span> <bdi class="handle">@${shortened(username, 60)}</bdi></span></a></p>`;
}

const pageLinks = (noun: Person['noun'], { older, newer }: Extent, { words }: Language) =>
  (older || newer) &&
  markup`<nav class="pages" aria-label="${words.pages}">
        ${newer && markup`<a rel="prev" href="${newer}">${words.newer[noun]}</a>`}
        ${older && markup`<a rel="next" href="${older}">${words.older[noun]}</a>`}
      </nav>`;

/** A zero says nothing: totals are often not imported. */
function counts({ counts }: Person, language: Language): Markup | undefined {
  const shown = counts.filter(([, digits]) => /[1-9]/.test(digits));
  if (shown.length === 0) return undefined;
  return markup`<dl class="counts">${shown.map(
    ([name, digits]) =>
      markup`<div><dt>${language.words.counts[name]}</dt><dd title="${digits}">${shownCount(digits, language)}</dd></div>`,
  )}</dl>`;
}

const shownCount = (digits: string, language: Language): string =>
  /^\d{1,30}$/.test(digits) ? language.compact(BigInt(digits)) : shortened(digits, 12);

function listPlaces({ location, country, links }: Person, language: Language): Markup[] {
  return [
    ...(location ? [markup`<span class="p-locality"${written(location)}>${location}</span>`] : []),
    ...(/^[A-Z]{2}$/.test(country)
      ? [markup`<span class="p-country-name">${language.region(country)}</span>`]
      : []),
    // Their own pages: other sites take rel="me" for a proof where the page there leads back.
    ...links.map(
      (url, nth) =>
        markup`<a class="u-url${nth === 0 && ' first'}" href="${url}" rel="me"><bdi>${shownUrl(url)}</bdi></a>`,
    ),
  ];
}
