// The list of all people: as a page, as JSON, and as sitemaps.

import type { Mount } from '../../config/mount.ts';
import { type Config, canonicalVariant } from '../../config/settings.ts';
import { VARIANTS, type Variant } from '../../variants.ts';
import { fill, findLanguage, type Language } from '../languages/language.ts';
import { createLook } from '../look.ts';
import { fillMarkup, type Markup, markup } from '../markup.ts';
import { createLayout } from '../page.ts';
import { LONGEST_TITLE, shortened } from '../people/person.ts';
import { createPictureSource, type KnownPictures, type PictureSource, picture } from '../people/pictures.ts';
import type { PersonEntry } from '../people/read-person.ts';
import { takeInitials } from '../web/shown.js';

export interface DirectoryPage {
  readonly people: readonly PersonEntry[];
  /** The name that the page begins behind; empty for the first page. */
  readonly after: string;
  readonly isLast: boolean;
  readonly pictures: KnownPictures;
  /** What was looked for, on a page of what was found. */
  readonly query?: string;
  /** The name that the page before begins behind. */
  readonly previous?: string;
  readonly letters?: readonly Letter[];
  /** How many people there are. */
  readonly count?: number;
  /** Variants with other people. */
  readonly others?: readonly Variant[];
}

/** A letter, and the name before the first that begins with it. */
export interface Letter {
  readonly letter: string;
  readonly after: string;
}

const ROOT = '../';
/** Of each person of a portfolio. */
export const WORKS_SHOWN = 3;
const LONGEST_BIO = 140;

const address = (file: string, after: string) =>
  after === '' ? file : `${file}?${new URLSearchParams({ after })}`;

export function createDirectoryPage(config: Config, mount: Mount) {
  const { variant, base } = mount;
  const look = createLook(config);
  const layout = createLayout(config, ROOT);
  const findSource = createPictureSource(config, ROOT);
  const language = findLanguage(config);
  const { words } = language;
  return (page: DirectoryPage): string => {
    const { people, after, query, previous = '', isLast, pictures } = page;
    const source = findSource(pictures);
    const canonical =
      base.origin && `${base.origin}/people/${address(canonicalVariant(config, mount), after)}`;
    const json =
      query === undefined
        ? address(`${variant}.json`, after)
        : `${variant}.json?${new URLSearchParams({ q: query })}`;
    const entries = people.map((person) => entry(person, variant, source));
    const next = !isLast && query === undefined && people.at(-1)?.username;
    return layout({
      name: 'people',
      head: markup`<title>${look.titled(query === undefined ? words.people : `${words.people}: ${shortened(query, LONGEST_TITLE)}`)}</title>
    <meta name="description" content="${words.everybodyByName}">
    ${query !== undefined ? markup`<meta name="robots" content="noindex">` : canonical && markup`<link rel="canonical" href="${canonical}">`}
    <link rel="alternate" type="application/json" href="${json}">`,
      main: markup`
      <h1>${words.people}</h1>
      ${searchForm(variant, language, query)}
      ${query === undefined ? letterLinks(variant, page, language) : markup`<p role="status">${found(page, language)} <a href="${variant}">${words.everybody}</a></p>`}
      ${entries.length > 0 && markup`<ul class="directory${VARIANTS[variant].family === 'portfolio' && ' with-works'}">${entries}</ul>`}
      <nav class="pages" aria-label="${words.pages}">
        ${after !== '' && query === undefined && markup`<a rel="prev" href="${address(variant, previous)}">${words.previousPage}</a>`}
        ${next && markup`<a rel="next" href="${address(variant, next)}">${words.nextPage}</a>`}
      </nav>
    `,
    });
  };
}

/** A browser remembers what was looked for: the field is empty on a page of the whole list. */
const searchForm = (variant: string, { words }: Language, query = '') =>
  markup`<form class="search" role="search" action="${variant}">
        <label for="q">${words.nameLabel}</label>
        <div class="search-field">
          <input id="q" name="q" type="search" value="${query}" maxlength="255" autocapitalize="none" autocomplete="off" spellcheck="false" dir="auto" enterkeyhint="search">
          <button type="submit">${words.find}</button>
        </div>
      </form>`;

function found({ people, query = '', isLast }: DirectoryPage, language: Language): Markup {
  const { words } = language;
  const count = people.length;
  const some = isLast ? language.plural(words.found, count) : words.foundFirst;
  return fillMarkup(count === 0 ? words.foundNone : some, {
    n: language.number(count),
    query: markup`<bdi>${shortened(query, LONGEST_TITLE)}</bdi>`,
  });
}

function letterLinks(variant: string, page: DirectoryPage, language: Language): Markup {
  const { letters = [], count = 0, after, people, others = [] } = page;
  const { words } = language;
  const isBehindAll = people.length === 0 && after !== '';
  const all =
    count === 0
      ? words.nobodyYet
      : fill(language.plural(words.peopleByName, count), { n: language.number(count) });
  const sorted = letters.toSorted((one, two) => language.compare(one.letter, two.letter));
  return markup`<p>${isBehindAll ? words.nobodyFurther : all}${others.map((other) => markup` <a href="${other}">${words.families[VARIANTS[other].family]}</a>`)}</p>
      ${letters.length > 1 && markup`<nav class="letters" aria-label="${words.letters}">${sorted.map((each) => markup`<a href="${address(variant, each.after)}">${each.letter}</a> `)}</nav>`}`;
}

function entry(person: PersonEntry, variant: string, source: PictureSource) {
  const { username, name, bio, smallAvatar } = person;
  const size = { width: 64, height: 64, sizes: '4rem' };
  const avatar = { kind: 'face', seed: username, initials: takeInitials(name), ...size };
  return markup`<li><a href="${variant}/${encodeURIComponent(username)}">${person.works && workStrip(person, source)}${picture(source(smallAvatar), avatar)}
          <span class="who"><bdi class="name">${shortened(name, LONGEST_TITLE)}</bdi> <bdi class="handle">@${shortened(username, LONGEST_TITLE)}</bdi>
          ${bio && markup`<span class="line" dir="auto">${shortened(bio, LONGEST_BIO)}</span>`}</span></a></li>
        `;
}

/** What one sees first of a designer; a pale field if there is nothing yet. */
function workStrip({ works = [], username }: PersonEntry, source: PictureSource): Markup {
  const size = { kind: 'thumb', width: 160, height: 160 };
  const shown = works.map(({ image, smallImage, title, id }) => {
    const large = source(image);
    const { width = 1, height = 1 } = large?.known ?? {};
    return picture(large?.known?.small.length ? large : source(smallImage), {
      ...size,
      // One or two are wider, and of a wide one only the middle is shown.
      sizes: works.length < WORKS_SHOWN || width > 1.7 * height ? '20rem' : '7.5rem',
      seed: `${title} ${id}`,
      initials: takeInitials(title),
    });
  });
  const field = picture(undefined, { ...size, kind: 'thumb nothing', sizes: '', seed: username });
  return markup`<span class="works" aria-hidden="true">${shown.length > 0 ? shown : field}</span>`;
}

export const createDirectoryJson =
  ({ variant }: Mount) =>
  ({ people, isLast, query }: DirectoryPage): string => {
    const next =
      isLast || query !== undefined ? '' : address(`${variant}.json`, people.at(-1)?.username ?? '');
    const entries = people.map(({ username, name }) => ({
      username,
      name,
      page: `${variant}/${encodeURIComponent(username)}`,
    }));
    return JSON.stringify({ people: entries, next });
  };

/** The protocol allows 2,048. Who has a longer name is in the directory all the same. */
const LONGEST_ADDRESS = 450;

const XML = '<?xml version="1.0" encoding="UTF-8"?>\n';
const NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"';

export function sitemap(addresses: readonly string[]): string {
  const entries = addresses
    .filter(({ length }) => length <= LONGEST_ADDRESS)
    .map((address) => markup`<url><loc>${address}</loc></url>\n`.text);
  return `${XML}<urlset ${NAMESPACE}>\n${entries.join('')}</urlset>\n`;
}

export function sitemapIndex(files: readonly string[]): string {
  const entries = files.map((file) => markup`<sitemap><loc>${file}</loc></sitemap>\n`.text);
  return `${XML}<sitemapindex ${NAMESPACE}>\n${entries.join('')}</sitemapindex>\n`;
}
