// How names, numbers and dates are shown, on pages and on the card alike.

/** Colours of what has no picture: gradients of the palette, dark enough for white initials. */
export const HUES = [
  ['#0f7462', '#073f36'],
  ['#2a6684', '#143547'],
  ['#8a6116', '#4d340a'],
  ['#56702f', '#2d3e18'],
  ['#96503c', '#54281c'],
  ['#6a5878', '#382d42'],
];

/** The number of a hue, always the same for the same text. */
export function chooseHue(seed) {
  let sum = 7;
  for (const character of seed) sum = (sum * 31 + character.codePointAt(0)) % 3600;
  return sum % HUES.length;
}

/** The text if it has a visible character, otherwise ''. */
export const visible = (text) => (/[\p{L}\p{N}\p{P}\p{S}]/u.test(text) ? text : '');

/** The first letters of the first two words, which do not join to an Arabic word. */
export const takeInitials = (text) =>
  (text.match(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu) ?? [])
    .slice(0, 2)
    .join(/[\u0600-\u08ff]/.test(text) ? '\u200c' : '')
    .toUpperCase();

/** Initials for each title; equal ones are numbered: LF, LF2, LF3. */
export function distinctInitials(titles) {
  const counts = new Map();
  return titles.map((title) => {
    const initials = takeInitials(title);
    const count = (counts.get(initials) ?? 0) + 1;
    counts.set(initials, count);
    return count > 1 || initials === '' ? `${initials}${count}` : initials;
  });
}

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);

/** `2026-09-07` as people write it. */
export function writtenDate(date) {
  const month = MONTHS[date.slice(5, 7) - 1];
  return month === undefined
    ? 'Undated'
    : `${month} ${Number(date.slice(8, 10))}, ${Number(date.slice(0, 4))}`;
}

/** 1284000 as 1,284,000. */
export const grouped = (digits) => digits.slice(0, 20).replace(/\B(?=(?:\d{3})+$)/g, ',');

export const shownPrice = (price) => (/^0+([.,]0+)?$/.test(price) ? 'Free' : price);
