// How people are found: by the beginning of their user name, or of any word of their name, place, skills or tags of their newest
// works, letter case and accents aside.
// Stored and asked for in the same form.

/** What Unicode does not take apart, as it is typed where keyboards lack it. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ŧ: 't',
  ı: 'i',
  ς: 'σ',
};

/** Letters and digits, with one space in place of all that is between them. */
function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[ßæœøłđðþħŧıς]/g, (letter) => LETTERS[letter] ?? letter)
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** A user name may consist of signs alone. It has no control characters, which PostgreSQL would not take. */
const foldUserName = (name: string) =>
  fold(name) ||
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{Cc}+/gu, '')
    .trim();

/** Chinese and Japanese have no spaces: a word begins where the kind of characters changes. */
const WORD =
  /\p{scx=Han}+|\p{scx=Katakana}+|\p{scx=Hiragana}+|[^ \p{scx=Han}\p{scx=Katakana}\p{scx=Hiragana}]+/gu;
/** And a space between them is written or left out. */
const NEEDLESS_SPACE =
  /(?<=[\p{scx=Han}\p{scx=Katakana}\p{scx=Hiragana}]) (?=[\p{scx=Han}\p{scx=Katakana}\p{scx=Hiragana}])/gu;

const LONGEST = 40;
const cut = (text: string) => text.replace(NEEDLESS_SPACE, '').slice(0, LONGEST).toWellFormed();

/** Of longer names, the first ones count. */
const MOST_WORDS = 8;
const MOST_PLACE_WORDS = 4;
/** Of all skills together. */
const MOST_SKILL_WORDS = 12;
/** Of the tags of all works in the list together. */
const MOST_TAG_WORDS = 24;
/** All words of a user. */
export const MOST_WORDS_OF_USER = 1 + MOST_WORDS + MOST_PLACE_WORDS + MOST_SKILL_WORDS + MOST_TAG_WORDS;

/** The members of a profile that a user is found by. */
export type SearchedMember = 'username' | 'name' | 'location' | 'skills';

/** What a user is found by, as a JSON array: the user name, and name, place and each skill from each of their words on. */
export function searchWords(profile: { readonly [member in SearchedMember]?: string | undefined }): string {
  const { username = '', name = '', location = '', skills = '' } = profile;
  const ofSkills = splitTags(skills).flatMap((skill) => startsOf(skill, MOST_WORDS));
  const words = [
    foldUserName(username),
    ...startsOf(name, MOST_WORDS),
    ...startsOf(location, MOST_PLACE_WORDS),
    ...ofSkills.slice(0, MOST_SKILL_WORDS),
  ];
  return JSON.stringify([...new Set(words.map(cut))]);
}

/** Longer texts are not read to their end. */
const LONGEST_TAGS = 1000;

/** At Latin, Arabic and CJK commas. */
const splitTags = (text: string) => text.slice(0, LONGEST_TAGS).split(/[,،、]/);

/** The member in the text of a list. In a value, its quotes would be escaped. Parsing the whole list takes twice as long. */
const TAGS = /(?<="tags":)"(?:[^"\\]+|\\.)+"/g;

/**
 * What a user is found by besides: the tags of the works in the list, newest first, and then those of several words from
 * each further word on. A JSON array; null if there are none.
 */
export function searchTags(list: string): string | null {
  const tags = [...new Set(readTexts(list.match(TAGS) ?? []).flatMap(splitTags))].map((tag) =>
    startsOf(tag, MOST_WORDS),
  );
  const words = [...tags.flatMap(([whole = '']) => whole), ...tags.flatMap(([, ...inner]) => inner)];
  const distinct = [...new Set(words.map(cut))].filter(Boolean);
  return distinct.length === 0 ? null : JSON.stringify(distinct.slice(0, MOST_TAG_WORDS));
}

/** A damaged text is none. */
function readTexts(texts: readonly string[]): string[] {
  try {
    return JSON.parse(`[${texts}]`);
  } catch {
    return [];
  }
}

/** The text from each of its first words on. */
function startsOf(text: string, most: number): string[] {
  const folded = fold(text);
  // Most are one word, for which this takes a third of the time.
  if (/^[a-z0-9]+$/.test(folded)) return [folded];
  return [...folded.matchAll(WORD).take(most)].map(({ index }) => folded.slice(index));
}

/** What is looked for, in the form of these. Empty: everything would begin with it. */
export const searchKey = (text: string) => cut(foldUserName(text));
