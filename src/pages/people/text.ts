// Texts of people: with their links, and in the direction and language of their script.
import { type Markup, markup } from '../markup.ts';
import { shortened } from './person.ts';

/** Scripts that one language has, or one by far. */
const LANGUAGES = [
  ['he', /\p{Script=Hebrew}/gu],
  ['ja', /[\p{Script=Hiragana}\p{Script=Katakana}]/gu],
  ['ko', /\p{Script=Hangul}/gu],
  ['th', /\p{Script=Thai}/gu],
  ['el', /\p{Script=Greek}/gu],
  // Persian and Urdu have letters of their own.
  ['ar', /[ء-ي]/g],
] as const;
const LONGEST_SAMPLE = 300;

/** Attributes by which a browser sets the text, and a screen reader speaks it. */
export function written(text: string): Markup {
  const language = spoken(text);
  return language === undefined ? AUTO : markup` dir="auto"${language}`;
}

const AUTO = markup` dir="auto"`;

export function spoken(text: string): Markup | undefined {
  const sample = text.slice(0, LONGEST_SAMPLE);
  if (/^[\0-\u036f\u2000-\u206f]*$/.test(sample)) return undefined;
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  const [language] = LANGUAGES.find(([, script]) => (sample.match(script)?.length ?? 0) * 4 > letters) ?? [];
  const isOther = language === 'ar' && /[ٹپچڈڑژکگںھہیے]/.test(sample);
  return language === undefined || isOther ? undefined : markup` lang="${language}"`;
}

export const outside = (url: string, content: Markup | string, name?: string): Markup =>
  markup`<a${name && markup` class="${name}"`} href="${url}" rel="nofollow">${content}</a>`;

const LONGEST_LINK = 60;

export function shownUrl(url: string): string {
  const { host, pathname } = new URL(url);
  return shortened(`${host.replace(/^www\./, '')}${pathname.replace(/\/$/, '')}`, LONGEST_LINK);
}

const LINK =
  /https?:\/\/[^\s<>"]*[^\s<>"'.,;:!?)\]}…。、）」]|(?<![\p{L}\p{N}_@./])@[\p{L}\p{N}_][\p{L}\p{N}_.-]*(?<=[\p{L}\p{N}_])(?![\p{L}\p{N}_@])/gu;
/** Each link is as much markup as many words. */
const MOST_LINKS = 50;

/** The text with links of its URLs, and of its @names if there is an address for them. */
export function linked(text: string, mention?: (name: string) => string): Markup {
  // Most texts have none, and the pattern costs as much as all else.
  if (!text.includes('@') && !text.includes('://')) return markup`${text}`;
  const parts: (Markup | string)[] = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(LINK).take(MOST_LINKS)) {
    const link = found.startsWith('@') ? mention && linkName(found, mention) : linkUrl(found);
    if (link === undefined) continue;
    parts.push(text.slice(end, index), link);
    end = index + found.length;
  }
  return markup`${parts}${text.slice(end)}`;
}

const linkName = (found: string, mention: (name: string) => string) =>
  markup`<a href="${mention(found.slice(1))}" rel="nofollow">${found}</a>`;

const linkUrl = (found: string) =>
  URL.canParse(found) ? outside(new URL(found).href, markup`<bdi>${shownUrl(found)}</bdi>`) : undefined;
