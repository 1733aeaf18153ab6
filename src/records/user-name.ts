// Which user names are legal, the key under which all spellings of a name are found, and the tag of a user in caches.
import { hash } from 'node:crypto';
import { FormatRegistry, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import type { Family } from './kinds.ts';

export const LONGEST_USER_NAME = 255;

FormatRegistry.Set('unicode-name', isUnicodeName);

function isUnicodeName(name: string): boolean {
  return !isTooLong(name) && name.isWellFormed();
}

/** Counts characters in Unicode form NFC: a name has the same length however its accents are written. */
export function isTooLong(name: string): boolean {
  return name.length > LONGEST_USER_NAME && [...name.normalize('NFC')].length > LONGEST_USER_NAME;
}

/** The one rule for user names, in records and in requests. */
export const UserName = Type.String({
  description: `The user name: 1 to ${LONGEST_USER_NAME} characters, no control characters.`,
  minLength: 1,
  pattern: '^[^\\u0000-\\u001F\\u007F-\\u009F]*$',
  format: 'unicode-name',
});

const compiled = TypeCompiler.Compile(UserName);
const isLegal = (name: string): boolean => compiled.Check(name);

/** Why this is not a legal user name; undefined when it is one. */
export function userNameFault(name: string): string | undefined {
  if (isLegal(name)) return undefined;
  if (name === '') return 'must not be empty';
  if (isTooLong(name)) return `must have at most ${LONGEST_USER_NAME} characters`;
  return name.isWellFormed() ? 'must not contain control characters' : 'must be well-formed Unicode';
}

const ASCII = /^[\x20-\x7e]*$/;
const ALL_BUT_DOTLESS_I = /[^ı]+/gu;

/**
 * Two names are the same user when they are canonical caseless matches (Unicode, definition D145): neither letter case
 * nor the way in which accents are encoded matters.
 */
export function userKey(name: string): string {
  if (ASCII.test(name)) return name.toLowerCase();
  return name.normalize('NFD').replace(ALL_BUT_DOTLESS_I, foldCase).normalize('NFC');
}

const PLAIN = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/;

/**
 * Ranges of characters. A key of these alone, without needless spaces, is its key for takedowns as well. Most names in most scripts
 * are of these.
 */
export const ORDINARY_RANGES =
  ' -~\u00df-\u0131\u0141-\u01c3\u0250-\u02af\u0300-\u034e\u03a3-\u03d1\u0400-\u052f\u0561-\u0586\u05d0-\u05ea\u0620-\u0674\u0904-\u0939\u0e01-\u0e32\u10d0-\u10fa\u3041-\u3096\u30a1-\u30fe\u4e00-\u9fff\uac00-\ud7a3';

/**
 * The key under which a user is taken down. It also leaves out invisible characters, other widths and forms (NFKC) and
 * needless spaces. The key of an ordinary name stays as it is.
 */
export function takedownKey(key: string): string {
  if (PLAIN.test(key)) return key;
  const visible = key
    .normalize('NFKC')
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}\u2800\ufffc\u{1d159}\u{16fe4}]/gu, '');
  return userKey(visible.replace(/\p{White_Space}+/gu, ' ').trim());
}

/**
 * Full case folding by JavaScript's case mappings: ß and ẞ become ss, σ stands for all three sigmas. Only the dotless ı
 * differs: its upper case is I, but it does not fold to i.
 */
function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

/** Every answer that has a tag of a user has this one too, by which caches drop them all. */
export const SITE_TAG = 'vitrine';

/**
 * All answers of a user have it, however the address spells the name. A hash, since caches limit the length of tags, their
 * characters and the number of all; 64 bits, since two users with one tag do no harm: both are purged.
 */
export const userTag = (family: Family, userKey: string) =>
  `${SITE_TAG}-${hash('sha256', `${family}\n${userKey}`).slice(0, 16)}`;
