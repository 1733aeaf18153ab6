// How people are found: by the beginning of their user name, or of any word of their name, letter case and accents aside.
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

/** What a user is found by, as a JSON array: the user name, and the name from each of its words on. */
export function searchWords(username: string, name: string): string {
  const folded = fold(name);
  const starts = [...folded.matchAll(WORD).take(MOST_WORDS)].map(({ index }) => folded.slice(index));
  return JSON.stringify([...new Set([foldUserName(username), ...starts].map(cut))]);
}

/** What is looked for, in the form of these. Empty: everything would begin with it. */
export const searchKey = (text: string) => cut(foldUserName(text));
