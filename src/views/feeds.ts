// A user's newest items as an Atom feed (RFC 4287) and as a JSON Feed 1.1. Ids are built from the data and links are
// relative, so that a feed does not depend on the host under which it was asked for: a proxy may have cached it.
import { VARIANTS, type Variant } from '../variants.ts';
import { Markup, markup } from './markup.ts';
import { type Item, type Person, shortened } from './person.ts';

export interface FeedOf {
  readonly variant: Variant;
  readonly person: Person;
  /** Whether there are pages of people to link to. */
  readonly pages: boolean;
}

const LONGEST_TITLE = 80;
const NEVER = '1970-01-01T00:00:00Z';

const idOf = ({ variant, person }: FeedOf, item?: Item) =>
  ['urn:vitrine', VARIANTS[variant].family, person.id, ...(item === undefined ? [] : [item.id])].join(':');

const titleOf = ({ title, text }: Item) => title || shortened(text, LONGEST_TITLE) || 'Untitled';

export function atomFeed(feed: FeedOf): string {
  const { variant, person, pages } = feed;
  const segment = encodeURIComponent(person.username);
  const home =
    pages && markup`<link rel="alternate" type="text/html" href="../../people/${variant}/${segment}"/>`;
  return markup`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>${idOf(feed)}</id>
  <title>${person.name}</title>
  ${person.bio && markup`<subtitle>${person.bio}</subtitle>`}
  <updated>${person.items[0]?.date ?? NEVER}</updated>
  <author><name>${person.name}</name></author>
  <link rel="self" type="application/atom+xml" href="${segment}.atom"/>
  ${home || undefined}
  ${person.items.map((item) => atomEntry(feed, item))}
</feed>
`.text;
}

function atomEntry(feed: FeedOf, item: Item) {
  const { text, date, url, image, tags } = item;
  // A picture that is in the feed as HTML is shown by every reader.
  const content = markup`${text && markup`<p>${text}</p>`}${image && markup`<p><img src="${image}" alt=""></p>`}`;
  return markup`<entry>
    <id>${idOf(feed, item)}</id>
    <title>${titleOf(item)}</title>
    <published>${date}</published>
    <updated>${date}</updated>
    ${url && markup`<link rel="alternate" href="${url}"/>`}
    ${tags.map((tag) => markup`<category term="${tag}"/>`)}
    <content type="html">${cdata(content)}</content>
  </entry>
  `;
}

/** Markup as the text of an element. Escaping it once more would make nine bytes of an ampersand. */
const cdata = ({ text }: Markup) => new Markup(`<![CDATA[${text}]]>`);

export function jsonFeed(feed: FeedOf): string {
  const { name, bio, avatar, links, items } = feed.person;
  return JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1',
    title: name,
    ...(bio && { description: bio }),
    ...(avatar && { icon: avatar }),
    authors: [{ name, ...(links[0] && { url: links[0] }), ...(avatar && { avatar }) }],
    items: items.map((item) => ({
      id: idOf(feed, item),
      ...(item.url && { external_url: item.url }),
      title: titleOf(item),
      content_text: item.text || titleOf(item),
      ...(item.image && { image: item.image }),
      date_published: item.date,
      ...(item.tags.length > 0 && { tags: item.tags }),
    })),
  });
}
