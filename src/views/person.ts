// A user as pages, feeds and images show them: read from the stored profile and list of either family.
import { VARIANTS, type Variant } from '../variants.ts';

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

type Data = Readonly<Record<string, string>>;

/** `profile` and `items` are the bodies of the two lookups. */
export function personOf(variant: Variant, profile: Buffer, items: Buffer): Person {
  const { family, collection } = VARIANTS[variant];
  const data: Data = JSON.parse(profile.toString());
  const list: readonly Data[] = JSON.parse(items.toString())[collection];
  const of = (member: string) => data[member] ?? '';
  const address = (member: string) => uriOf(of(member));
  const posts = family === 'microblog';
  return {
    id: of('id'),
    username: of('username'),
    name: isVisible(of('name')) ? of('name') : of('username'),
    bio: isVisible(of('bio')) ? of('bio') : '',
    verified: /[1-9]/.test(of('verified')),
    location: of('location'),
    avatar: address('avatar_large') || address('avatar'),
    smallAvatar: address('avatar') || address('avatar_large'),
    links: [address('website'), address('social_link')].filter(Boolean),
    counts: [
      posts ? ['Posts', of('totalPost')] : ['Shots', of('totalShots')],
      ['Followers', of('totalFollowers')],
      ['Following', of('totalFollowing')],
    ],
    noun: posts ? 'posts' : 'shots',
    items: list.map(posts ? postOf : shotOf),
  };
}

/** What browsers accept in a URL, but RFC 3986 and 3987 do not. */
const ILLEGAL = /["<>[\]\\^`{|}]|%(?![\da-f]{2})/gi;

/** The URL as feed readers and validators want it; only a host may have brackets. */
function uriOf(url: string): string {
  if (url.search(ILLEGAL) === -1) return url;
  const { href, protocol } = new URL(url);
  const path = href.indexOf('/', protocol.length + 2);
  return href.slice(0, path) + href.slice(path).replace(ILLEGAL, encodeURIComponent);
}

const isVisible = (text: string) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(text);

function postOf(post: Data): Item {
  const of = (member: string) => post[member] ?? '';
  return {
    id: of('id'),
    title: '',
    text: [of('post_details'), of('video_title'), of('title_audio')].find(isVisible) ?? '',
    date: timestamp(of('date')),
    url: uriOf(of('video_url') || of('url_audio') || of('photo')),
    image: uriOf(of('photo') || of('video_thumbnail') || of('thumbnail_song')),
    tags: [],
  };
}

function shotOf(shot: Data): Item {
  const of = (member: string) => shot[member] ?? '';
  return {
    id: of('id'),
    title: isVisible(of('title')) ? of('title') : 'Untitled',
    text: isVisible(of('description')) ? of('description') : '',
    date: timestamp(of('date')),
    url: uriOf(of('url_purchased') || of('attachment') || of('large_image')),
    image: uriOf(of('large_image') || of('image')),
    tags: of('tags')
      .split(',')
      .map((tag) => tag.trim())
      .filter(Boolean),
  };
}

/** The zero date is no date of the calendar: it becomes the first moment of Unix time. */
const timestamp = (date: string) =>
  date.startsWith('0000-00') ? '1970-01-01T00:00:00Z' : `${date.replace(' ', 'T')}Z`;

/** `2026-09-07` as people write it. */
export const writtenDate = (date: string) =>
  new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(date));

const LONGEST_TITLE = 60;

/** A title for the whole person. */
export const titleOf = ({ name, username }: Person) =>
  `${shortened(name, LONGEST_TITLE)} (@${shortened(username, LONGEST_TITLE)})`;

/** The first letters of the first two words. */
export const initialsOf = (text: string) =>
  (text.match(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu) ?? []).slice(0, 2).join('').toUpperCase();

/** What a cut leaves of a character outside the basic plane. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;

/** The text up to this many characters, on one line. */
export function shortened(text: string, length: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= length
    ? line
    : `${line
        .slice(0, length - 1)
        .replace(HALF_CHARACTER, '')
        .trimEnd()}…`;
}
