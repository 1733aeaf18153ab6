// Reads a user from the stored profile and list of either family, and limits what their data can cost.
import { readFileSync } from 'node:fs';
import { packageFile } from '../../config/package-files.ts';
import type { ShotEntry } from '../../stores/reader.ts';
import { VARIANTS, type Variant } from '../../variants.ts';
import { escapeText } from '../markup.ts';
import { visible } from '../web/shown.js';
import { cut, type Extra, type Item, type Person } from './person.ts';

/** A record as it is stored. Its texts may have 64 KiB. */
export type Data = Readonly<Record<string, string>>;

// Pages, feeds and cards are made for each request, so what one record can cost them is limited here.
const MAX_TEXT = 2000;
/** Bytes of markup for longer texts of one person: these are whole until it is spent, the bio first. */
const LONG_TEXTS = 64 * 1024;
/** Pages and their JSON-LD have the bio. */
const BIO_COPIES = 2;
/** Each character that markup escapes costs as much as many others; no text that people read has that many. */
const ESCAPED = /[&<>"']/g;
const ESCAPED_SIZE = 6;
const MOST_ESCAPED = 0.1;
const MANY = 400;
const MANY_ESCAPED = new RegExp(`^(?:[^&<>"']*[&<>"']){${MANY}}`);
const MAX_TITLE = 200;
const MAX_TAGS = 30;
const MAX_TAG = 60;
/** Of a list of tags, empty ones included. */
const MAX_PARTS = 100;
/** In characters of markup: an ampersand has five. A URL cannot be cut, so a longer one is left out. */
const MAX_URL = 2000;

/** A profile as it is stored, and items as a JSON array. */
interface StoredPerson {
  readonly profile: { readonly body: Buffer | null };
  items(): string;
}

export const parsePerson = (variant: Variant, { profile, items }: StoredPerson, mostItems?: number): Person =>
  readPerson(variant, JSON.parse(String(profile.body)), JSON.parse(items()).slice(0, mostItems));

export type Work = Pick<Item, 'id' | 'title' | 'image' | 'smallImage'>;

/** What a list of people shows of each. */
export interface PersonEntry extends Pick<Person, 'username' | 'name' | 'bio' | 'smallAvatar'> {
  /** The newest of a portfolio. */
  readonly works?: readonly Work[] | undefined;
}

/** The texts are the beginnings of those of a profile. */
export const readEntry = (
  data: Record<'username' | 'name' | 'bio' | 'avatar', string>,
  shots?: readonly ShotEntry[],
): PersonEntry => ({
  username: data.username,
  name: visible(cut(data.name, MAX_TITLE)) || data.username,
  bio: shortText(data.bio),
  smallAvatar: readUrl(data.avatar),
  works: shots?.map(readWork),
});

/** `data` is a profile. */
export function readPerson(variant: Variant, data: Data, items: readonly Data[]): Person {
  const { family } = VARIANTS[variant];
  const title = (member: string) => cut(data[member], MAX_TITLE);
  const digits = (member: string) => (data[member] ?? '').slice(0, MAX_TITLE);
  const address = (member: string) => readUrl(data[member]);
  const posts = family === 'microblog';
  const readText = createTextReader();
  return {
    id: data.id ?? '',
    username: data.username ?? '',
    name: visible(title('name')) || (data.username ?? ''),
    bio: readText(data.bio, BIO_COPIES),
    verified: /[1-9]/.test(title('verified')),
    location: visible(title('location')),
    country: cut(data.country, 3).toUpperCase(),
    skills: readTags(data.skills),
    cover: address('cover_large') || address('cover_image'),
    avatar: address('avatar_large') || address('avatar'),
    smallAvatar: address('avatar') || address('avatar_large'),
    links: [address('website'), address('social_link')].filter(Boolean),
    counts: [
      posts ? ['posts', digits('totalPost')] : ['shots', digits('totalShots')],
      ['followers', digits('totalFollowers')],
      ['following', digits('totalFollowing')],
      ...(posts ? [['favourites', digits('totalFavs')] as const] : [['likes', digits('Likes')] as const]),
    ],
    noun: posts ? 'posts' : 'shots',
    items: items.map((item) => (posts ? readPost(item, readText) : readShot(item, readText))),
  };
}

/** A user who shows what a template makes of data: the one of the OpenAPI document's examples. */
export function specimen(variant: Variant): Person {
  const { profile, items } = JSON.parse(readFileSync(packageFile('fixtures/examples.json'), 'utf8'))[
    VARIANTS[variant].family
  ];
  return readPerson(variant, profile, items);
}

/** What browsers accept in a URL, but RFC 3986 and 3987 do not. */
const ILLEGAL = /["<>[\]\\^`{|}]|%(?![\da-f]{2})/gi;

/** The URL as feed readers and validators want it; only a host may have brackets. */
function readUrl(url = ''): string {
  if (url.length > MAX_URL) return '';
  const written = asUri(url);
  const isShort = written.length * ESCAPED_SIZE <= MAX_URL;
  return isShort || escapeText(written).length <= MAX_URL ? written : '';
}

function asUri(url: string): string {
  if (url.search(ILLEGAL) === -1) return url;
  const { href, protocol } = new URL(url);
  const path = href.indexOf('/', protocol.length + 2);
  return href.slice(0, path) + href.slice(path).replace(ILLEGAL, encodeURIComponent);
}

type TextReader = (text: string | undefined, copies?: number) => string;

function createTextReader(): TextReader {
  let left = LONG_TEXTS;
  return (text = '', copies = 1) => {
    if (text.length < MANY) return visible(text);
    if (text.length <= MAX_TEXT || text.length * copies > left) return shortText(text);
    const bytes = markupSize(text) * copies;
    const isShown = bytes <= left;
    // Measuring costs as much as showing: only a few texts are measured that are not shown.
    left = isShown ? left - bytes : left / 2;
    return isShown ? visible(text) : shortText(text);
  };
}

/** Bytes of the text as markup, at most; infinite for one full of characters that are escaped. */
function markupSize(text: string): number {
  const most = text.length * MOST_ESCAPED;
  let escaped = 0;
  for (ESCAPED.lastIndex = 0; ESCAPED.test(text); escaped++)
    if (escaped > most) return Number.POSITIVE_INFINITY;
  return Buffer.byteLength(text) + escaped * ESCAPED_SIZE;
}

function shortText(text: string): string {
  const start = cut(text, MAX_TEXT);
  const [escaped] = MANY_ESCAPED.exec(start) ?? [];
  return visible(escaped === undefined ? start : cut(start, escaped.length));
}

function readPost(post: Data, readText: TextReader): Item {
  const address = (member: string) => readUrl(post[member]);
  const title = (member: string) => visible(cut(post[member], MAX_TITLE));
  const video = extra('Video', address('video_url'), title('video_title'), address('video_thumbnail'));
  const audio = extra('Audio', address('url_audio'), title('title_audio'), address('thumbnail_song'));
  const photo = address('photo');
  return {
    id: post.id ?? '',
    token: post.token_id ?? '',
    title: '',
    text: readText(post.post_details),
    date: timestamp(post.date),
    url: video.url || audio.url,
    image: photo || video.thumbnail || audio.thumbnail,
    smallImage: photo,
    tags: [],
    price: '',
    extras: [video, audio].filter(({ url, title }) => url || title),
  };
}

function readWork({ id = '', title, image, large_image }: Data | ShotEntry): Work {
  const [large, small] = [readUrl(large_image), readUrl(image)];
  return { id, title: visible(cut(title, MAX_TITLE)), image: large || small, smallImage: small || large };
}

function readShot(shot: Data, readText: TextReader): Item {
  const shop = extra('Buy', readUrl(shot.url_purchased));
  const file = extra('File', readUrl(shot.attachment));
  return {
    ...readWork(shot),
    token: shot.token_id ?? '',
    text: readText(shot.description),
    date: timestamp(shot.date),
    url: shop.url || file.url,
    tags: readTags(shot.tags),
    price: visible(cut(shot.price_item, MAX_TAG)),
    extras: [shop, file].filter(({ url }) => url),
  };
}

const extra = (kind: Extra['kind'], url: string, title = '', thumbnail = ''): Extra => ({
  kind,
  url,
  title,
  thumbnail,
});

/** Separated by Latin, Arabic or CJK commas. */
const readTags = (text: string | undefined) =>
  cut(text, MAX_TEXT)
    .split(/[,،、]/, MAX_PARTS)
    .map((tag) => cut(tag.trim(), MAX_TAG))
    .filter(Boolean)
    .slice(0, MAX_TAGS);

/** The zero date is no date of the calendar: it becomes the first moment of Unix time. */
const timestamp = (date = '') =>
  date.startsWith('0000-00') ? '1970-01-01T00:00:00Z' : `${date.replace(' ', 'T')}Z`;
