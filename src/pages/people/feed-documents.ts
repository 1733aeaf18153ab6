// A user's newest items as an Atom feed (RFC 4287) and as a JSON Feed 1.1. Neither depends on the host under which it was
// asked for: a proxy may have cached it. Links are absolute if a base URL names the host, and relative otherwise.
import { hash } from 'node:crypto';
import { VARIANTS, type Variant } from '../../variants.ts';
import type { Language } from '../languages/language.ts';
import { Markup, markup } from '../markup.ts';
import { type Item, type Person, shortened } from './person.ts';

export interface Feed {
  readonly language: Language;
  readonly variant: Variant;
  readonly person: Person;
  readonly title: string;
  /** Whether there are pages of people to link to. */
  readonly pages: boolean;
  /** Scheme and host of the variant's pages and feeds. */
  readonly origin: string | undefined;
  /** The host that makes ids unique by its name; the same for each variant, so that two of one family share their ids. */
  readonly authority: string | undefined;
}

const NEVER = '1970-01-01T00:00:00Z';

/**
 * An id that no other feed in the world has: a `tag:` URI of our host (RFC 4151). Without a host, a UUID (RFC 9562) made
 * of what tells users and items of different sites apart: ids begin with 1 everywhere. An id of the database would change
 * with each file that is built anew, and differ between nodes.
 */
function idFor({ variant, person, authority }: Feed, item?: Item): string {
  const path = [VARIANTS[variant].family, person.id, ...(item === undefined ? [] : [item.id])].join('/');
  if (authority !== undefined) return `tag:${authority},2026:${path}`;
  const digest = hash(
    'sha256',
    JSON.stringify([path, person.username.toLowerCase(), item?.token, item?.date]),
  );
  // 8 is the version; the variant of RFC 9562 begins with binary 10.
  const groups = /^(.{8})(.{4})(.{3})(.)(.{3})(.{12})/.exec(digest) ?? [];
  const [, low, middle, high, variantBits = '', clock, node] = groups;
  const mark = '89ab'[Number.parseInt(variantBits, 16) % 4];
  return `urn:uuid:${low}-${middle}-8${high}-${mark}${clock}-${node}`;
}

const buildLinks = ({ variant, person, pages, origin }: Feed) => {
  const segment = encodeURIComponent(person.username);
  const root = origin ?? '../..';
  const folder = origin === undefined ? '' : `${root}/feeds/${variant}/`;
  const page = pages ? `${root}/people/${variant}/${segment}` : undefined;
  return {
    page,
    /** The item's own page. */
    item: ({ id }: Item) => page && `${page}/${id}`,
    self: (extension: string) => `${folder}${segment}.${extension}`,
  };
};

export function atomFeed(feed: Feed): string {
  const { title, person } = feed;
  const { name, bio, avatar, links, items } = person;
  const { page, self } = buildLinks(feed);
  return markup`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="${feed.language.code}">
  <id>${idFor(feed)}</id>
  <title>${title}</title>
  ${bio && markup`<subtitle>${bio}</subtitle>`}
  <updated>${items[0]?.date ?? NEVER}</updated>
  <author><name>${name}</name>${links[0] && markup`<uri>${links[0]}</uri>`}</author>
  ${avatar && markup`<icon>${avatar}</icon>`}
  <link rel="self" type="application/atom+xml" href="${self('atom')}"/>
  ${page && markup`<link rel="alternate" type="text/html" href="${page}"/>`}
  ${items.map((item) => atomEntry(feed, item))}
</feed>
`.text;
}

const mediumTitle = ({ extras }: Item) => extras[0]?.title ?? '';

const LONGEST_TITLE = 80;

/** Atom requires a title. That of a post is its first words, or the date where it has none. */
function entryTitle({ person, language }: Feed, item: Item): string {
  const { words } = language;
  if (person.noun === 'shots') return words.untitled;
  const text = shortened(item.text || mediumTitle(item), LONGEST_TITLE);
  return text || (language.date(item.date) ?? words.post);
}

function atomEntry(feed: Feed, item: Item) {
  const { title, text, date, url, image, tags } = item;
  const page = buildLinks(feed).item(item);
  // A picture that is in the feed as HTML is shown by every reader.
  const words = text || mediumTitle(item);
  const content = markup`${words && markup`<p>${words}</p>`}${image && markup`<p><img src="${image}" alt=""></p>`}`;
  return markup`<entry>
    <id>${idFor(feed, item)}</id>
    <title>${title || entryTitle(feed, item)}</title>
    <published>${date}</published>
    <updated>${date}</updated>
    ${page && markup`<link rel="alternate" type="text/html" href="${page}"/>`}
    ${url && markup`<link rel="${page ? 'related' : 'alternate'}" href="${url}"/>`}
    ${tags.map((tag) => markup`<category term="${tag}"/>`)}
    <content type="html">${cdata(content)}</content>
  </entry>
  `;
}

/** Markup as the text of an element. Escaping it once more would make nine bytes of an ampersand. */
const cdata = ({ text }: Markup) => new Markup(`<![CDATA[${text}]]>`);

/** A JSON Feed has absolute URLs only. */
export function jsonFeed(feed: Feed): string {
  const { name, bio, avatar, links, items } = feed.person;
  const { page, item: itemPage, self } = buildLinks(feed);
  const known = feed.origin !== undefined;
  return JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1',
    title: feed.title,
    language: feed.language.code,
    ...(known && {
      ...(page && { home_page_url: page }),
      feed_url: self('json'),
    }),
    ...(bio && { description: bio }),
    ...(avatar && { icon: avatar }),
    authors: [{ name, ...(links[0] && { url: links[0] }), ...(avatar && { avatar }) }],
    items: items.map((item) => ({
      id: idFor(feed, item),
      ...(known && page && { url: itemPage(item) }),
      ...(item.url && { external_url: item.url }),
      ...(item.title && { title: item.title }),
      content_text: item.text || item.title || mediumTitle(item) || feed.language.words.untitled,
      ...(item.image && { image: item.image }),
      date_published: item.date,
      ...(item.tags.length > 0 && { tags: item.tags }),
    })),
  });
}
