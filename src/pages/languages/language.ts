// The language of the pages of people: its words, and how it writes numbers, dates, countries and prices.

import type { SiteLanguage } from '../../config/setting-values.ts';
import { ar } from './ar.ts';
import { de } from './de.ts';
import { en } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { it } from './it.ts';
import { ja } from './ja.ts';
import { nl } from './nl.ts';
import { pl } from './pl.ts';
import { pt } from './pt.ts';
import { sv } from './sv.ts';
import { tr } from './tr.ts';
import type { Plural, Words } from './words.ts';

export type Direction = 'ltr' | 'rtl';

const LANGUAGES: Readonly<Record<SiteLanguage, Words>> = { ar, de, en, es, fr, it, ja, nl, pl, pt, sv, tr };
const RIGHT_TO_LEFT: readonly SiteLanguage[] = ['ar'];

const DAY_LENGTH = 'YYYY-MM-DD'.length;

export type Language = ReturnType<typeof createLanguage>;

/** Objects of `Intl` hold memory outside of the heap, so each language makes its own once. */
const made = new Map<SiteLanguage, Language>();

export function findLanguage({ siteLanguage }: { readonly siteLanguage: SiteLanguage }): Language {
  const language = made.get(siteLanguage) ?? createLanguage(siteLanguage);
  made.set(siteLanguage, language);
  return language;
}

/** Ten years of days. */
const MOST_REMEMBERED = 3660;

/** Remembers what `Intl` made of a text: a page has up to 30 dates, and each took as long as the rest of its item. */
function remember(write: (text: string) => string): (text: string) => string {
  const written = new Map<string, string>();
  return (text) => {
    const known = written.get(text);
    if (known !== undefined) return known;
    if (written.size === MOST_REMEMBERED) written.clear();
    const made = write(text);
    written.set(text, made);
    return made;
  };
}

function createLanguage(code: SiteLanguage) {
  const words = LANGUAGES[code];
  const numbers = new Intl.NumberFormat(code);
  const compact = new Intl.NumberFormat(code, { notation: 'compact', maximumFractionDigits: 1 });
  const dates = new Intl.DateTimeFormat(code, { dateStyle: 'long', timeZone: 'UTC', calendar: 'gregory' });
  const regions = new Intl.DisplayNames(code, { type: 'region', fallback: 'code' });
  const plurals = new Intl.PluralRules(code);
  const collator = new Intl.Collator(code);
  const writeDay = remember((day) => {
    const ms = Date.parse(day);
    return Number.isNaN(ms) ? '' : dates.format(ms);
  });

  const direction: Direction = RIGHT_TO_LEFT.includes(code) ? 'rtl' : 'ltr';

  return {
    code,
    words,
    direction,
    compare: collator.compare,
    number: (value: number | bigint): string => numbers.format(value),
    /** Large numbers are shortened: 1.3M. */
    compact: (value: bigint): string => (value < 100_000n ? numbers : compact).format(value),
    /** The day of a time in RFC 3339. The start of Unix time stands for no date. */
    date: (time: string): string | undefined =>
      time.startsWith('1970-01-01T00:00:00') ? undefined : writeDay(time.slice(0, DAY_LENGTH)) || undefined,
    /** By its upper-case code. */
    region: remember((country) => regions.of(country) ?? country),
    price: (price: string): string => (/^0+([.,]0+)?$/.test(price) ? words.free : price),
    plural: (forms: Plural, count: number): string => forms[plurals.select(count)] ?? forms.other,
  };
}

const PLACEHOLDERS = /\{(\w+)\}/g;

/** The text with values in place of `{name}` and the like. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(PLACEHOLDERS, (whole, name: string) => values[name] ?? whole);
