// A user as pages, feeds and images show them.

import type { Direction, Language } from '../languages/language.ts';
import type { Words } from '../languages/words.ts';

export interface Person {
  readonly id: string;
  readonly username: string;
  readonly name: string;
  readonly bio: string;
  readonly verified: boolean;
  readonly location: string;
  /** An upper-case code. */
  readonly country: string;
  readonly skills: readonly string[];
  readonly cover: string;
  readonly avatar: string;
  /** The smaller one, if there are two. */
  readonly smallAvatar: string;
  /** Addresses of their own pages. */
  readonly links: readonly string[];
  readonly counts: readonly (readonly [name: keyof Words['counts'], digits: string])[];
  readonly noun: 'posts' | 'shots';
  /** Newest first. */
  readonly items: readonly Item[];
}

export interface Item {
  readonly id: string;
  readonly token: string;
  /** Empty for a post, and for a shot without one. */
  readonly title: string;
  readonly text: string;
  /** As RFC 3339. */
  readonly date: string;
  /** Of a page elsewhere: where it is sold, its file, video or song. */
  readonly url: string;
  readonly image: string;
  /** The smaller one, if there are two. */
  readonly smallImage: string;
  readonly tags: readonly string[];
  readonly price: string;
  /** What else belongs to it: where to buy it, a file, a video, a song. */
  readonly extras: readonly Extra[];
}

export interface Extra {
  readonly kind: 'Buy' | 'File' | 'Video' | 'Audio';
  readonly url: string;
  readonly title: string;
  readonly thumbnail: string;
}

/** Of a name or user name where it stands for the whole person. */
export const LONGEST_TITLE = 60;

export const personTitle = ({ name, username }: Person) =>
  `${shortened(name, LONGEST_TITLE)} (@${shortened(username, LONGEST_TITLE)})`;

const LONGEST_SAMPLE = 1000;

/** The direction of a page: the one of the name; where it has no letters, of the bio, and last of the items. */
export function findDirection({ name, bio, items }: Person): Direction {
  const texts = [name, bio, ...items.map(({ title, text }) => `${title} ${text}`)];
  return textDirection(texts.find((text) => /\p{L}/u.test(text)) ?? '');
}

/** The direction that most of its letters have. */
export function textDirection(text: string): Direction {
  const sample = text.slice(0, LONGEST_SAMPLE);
  const count = (script: RegExp) => sample.match(script)?.length ?? 0;
  const rtl = count(/[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/gu);
  return rtl > 0 && rtl * 2 > count(/\p{L}/gu) ? 'rtl' : 'ltr';
}

/** What a cut leaves of a character outside the basic plane. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;

/** The text, or its beginning and an ellipsis. */
export function cut(text = '', length: number): string {
  return text.length <= length
    ? text
    : `${text
        .slice(0, length - 1)
        .replace(HALF_CHARACTER, '')
        .trimEnd()}…`;
}

const LONGEST_LINE = 2000;

/** Texts are full of single blanks, which stay. */
const MORE_THAN_A_BLANK = /\s\s+|[^\S ]/g;

/** The text up to this many characters, on one line. */
export const shortened = (text: string, length: number) =>
  cut(cut(text, LONGEST_LINE).replace(MORE_THAN_A_BLANK, ' ').trim(), length);

const LONGEST_NAME = 60;

/** The title of a shot, or what stands for that of a post. */
export function itemTitle(
  { title, text, smallImage, extras: [extra] }: Item,
  noun: Person['noun'],
  { words }: Language,
): string {
  const ofPost = text || (extra?.title ?? '');
  const named = shortened(title || (noun === 'shots' ? words.untitled : ofPost), LONGEST_NAME);
  if (named !== '') return named;
  if (smallImage) return words.photo;
  return extra ? words.kinds[extra.kind] : words.post;
}
