// A user as pages, feeds and images show them: read from the stored profile and list of either family.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VARIANTS, type Variant } from '../variants.ts';
import { escapeText } from './markup.ts';

export interface Person {
  readonly id: string;
  readonly username: string;
  readonly name: string;
  readonly bio: string;
  readonly verified: boolean;
  readonly location: string;
  readonly avatar: string;
  /** The smaller one, if there are two. */
  readonly smallAvatar: string;
  /** Addresses of their own pages. */
  readonly links: readonly string[];
  readonly counts: readonly (readonly [label: string, digits: string])[];
  readonly noun: 'posts' | 'shots';
  /** Newest first. */
  readonly items: readonly Item[];
}

export interface Item {
  readonly id: string;
  readonly token: string;
  /** Empty for a post. */
  readonly title: string;
  readonly text: string;
  /** As RFC 3339. */
  readonly date: string;
  /** A page about it. */
  readonly url: string;
  readonly image: string;
  readonly tags: readonly string[];
}

const EXAMPLES = join(import.meta.dirname, '../../fixtures/examples.json');

/** A record as it is stored. Its texts may have 64 KiB. */
type Data = Readonly<Record<string, string>>;

// Pages, feeds and cards are made for each request, so what one record can cost them is limited here.
const MAX_TEXT = 2000;
const MAX_TITLE = 200;
const MAX_TAGS = 30;
const MAX_TAG = 60;
/** In characters of markup: an ampersand has five. A URL cannot be cut, so a longer one is left out. */
const MAX_URL = 2000;

/** `profile` and `items` are the bodies of the two lookups. */
export function readPerson(variant: Variant, profile: Buffer, items: Buffer): Person {
  const { family, collection } = VARIANTS[variant];
  const data: Data = JSON.parse(profile.toString());
  const list: readonly Data[] = JSON.parse(items.toString())[collection];
  const text = (member: string) => cut(data[member], MAX_TEXT);
  const title = (member: string) => cut(data[member], MAX_TITLE);
  const digits = (member: string) => (data[member] ?? '').slice(0, MAX_TITLE);
  const address = (member: string) => readUrl(data[member]);
  const posts = family === 'microblog';
  return {
    id: data.id ?? '',
    username: data.username ?? '',
    name: visible(title('name')) || (data.username ?? ''),
    bio: visible(text('bio')),
    verified: /[1-9]/.test(title('verified')),
    location: title('location'),
    avatar: address('avatar_large') || address('avatar'),
    smallAvatar: address('avatar') || address('avatar_large'),
    links: [address('website'), address('social_link')].filter(Boolean),
    counts: [
      posts ? ['Posts', digits('totalPost')] : ['Shots', digits('totalShots')],
      ['Followers', digits('totalFollowers')],
      ['Following', digits('totalFollowing')],
    ],
    noun: posts ? 'posts' : 'shots',
    items: list.map(posts ? readPost : readShot),
  };
}

/** A user who shows what a template makes of data: the one of the OpenAPI document's examples. */
export function specimen(variant: Variant): Person {
  const { family, collection } = VARIANTS[variant];
  const { profile, items } = JSON.parse(readFileSync(EXAMPLES, 'utf8'))[family];
  return readPerson(
    variant,
    Buffer.from(JSON.stringify(profile)),
    Buffer.from(JSON.stringify({ [collection]: items })),
  );
}

/** What browsers accept in a URL, but RFC 3986 and 3987 do not. */
const ILLEGAL = /["<>[\]\\^`{|}]|%(?![\da-f]{2})/gi;

/** The URL as feed readers and validators want it; only a host may have brackets. */
function readUrl(url = ''): string {
  const written = url.length > MAX_URL ? '' : asUri(url);
  return escapeText(written).length > MAX_URL ? '' : written;
}

function asUri(url: string): string {
  if (url.search(ILLEGAL) === -1) return url;
  const { href, protocol } = new URL(url);
  const path = href.indexOf('/', protocol.length + 2);
  return href.slice(0, path) + href.slice(path).replace(ILLEGAL, encodeURIComponent);
}

const visible = (text: string) => (/[\p{L}\p{N}\p{P}\p{S}]/u.test(text) ? text : '');

function readPost(post: Data): Item {
  const address = (member: string) => readUrl(post[member]);
  return {
    id: post.id ?? '',
    token: post.token_id ?? '',
    title: '',
    text:
      visible(cut(post.post_details, MAX_TEXT)) ||
      visible(cut(post.video_title, MAX_TITLE)) ||
      visible(cut(post.title_audio, MAX_TITLE)),
    date: timestamp(post.date),
    url: address('video_url') || address('url_audio') || address('photo'),
    image: address('photo') || address('video_thumbnail') || address('thumbnail_song'),
    tags: [],
  };
}

function readShot(shot: Data): Item {
  const address = (member: string) => readUrl(shot[member]);
  return {
    id: shot.id ?? '',
    token: shot.token_id ?? '',
    title: visible(cut(shot.title, MAX_TITLE)) || 'Untitled',
    text: visible(cut(shot.description, MAX_TEXT)),
    date: timestamp(shot.date),
    url: address('url_purchased') || address('attachment') || address('large_image'),
    image: address('large_image') || address('image'),
    tags: readTags(shot.tags),
  };
}

/** Separated by Latin, Arabic or CJK commas. */
const readTags = (text: string | undefined) =>
  cut(text, MAX_TEXT)
    .split(/[,،、]/)
    .map((tag) => cut(tag.trim(), MAX_TAG))
    .filter(Boolean)
    .slice(0, MAX_TAGS);

/** The zero date is no date of the calendar: it becomes the first moment of Unix time. */
const timestamp = (date = '') =>
  date.startsWith('0000-00') ? '1970-01-01T00:00:00Z' : `${date.replace(' ', 'T')}Z`;

/** Made once: what an `Intl` object takes is outside of V8's heap, so no garbage collection is due for it. */
const DATES = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' });

/** `2026-09-07` as people write it. */
export const writtenDate = (date: string) => DATES.format(new Date(date));

const LONGEST_TITLE = 60;

/** A title for the whole person. */
export const titleOf = ({ name, username }: Person) =>
  `${shortened(name, LONGEST_TITLE)} (@${shortened(username, LONGEST_TITLE)})`;

/** The first letters of the first two words. */
export const initialsOf = (text: string) =>
  (text.match(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu) ?? []).slice(0, 2).join('').toUpperCase();

/** What a cut leaves of a character outside the basic plane. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;

/** The text, or its beginning and an ellipsis. */
function cut(text = '', length: number): string {
  return text.length <= length
    ? text
    : `${text
        .slice(0, length - 1)
        .replace(HALF_CHARACTER, '')
        .trimEnd()}…`;
}

/** The text up to this many characters, on one line. */
export const shortened = (text: string, length: number) => cut(text.replace(/\s+/g, ' ').trim(), length);
