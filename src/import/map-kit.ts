// The functions that every map is given: ids, texts, dates and URLs as records need them.
import { hash } from 'node:crypto';
import { Parser } from 'htmlparser2';
import { type DateOrder, isSheetDate, utcFromIso, utcFromSheet, wireDate } from '../records/dates.ts';
import { brief } from '../records/printable.ts';

const ID_BITS = 63n;
const EPOCH = /^-?\d+(?:\.\d+)?$/;
/** `Sat, 5 Mar 2022 22:00:00 +0200`, and `Sat Mar 05 22:00:00 +0000 2022` in Twitter's archives. */
const NAMED_DATE =
  /^(?:[A-Z][a-z]{2},? +)?(?:[A-Z][a-z]{2} )?(?<day>\d{1,2}) (?:[A-Z][a-z]{2} \d{4} )?\d\d:\d\d(?::\d\d)? (?<zone>[+-]\d{4}|GMT|UTC?|Z)(?: \d{4}| \([A-Z]+\))?$/;
/** Seconds reach this number in the year 5138, milliseconds did in 1973. */
const LEAST_MILLISECONDS = 1e11;

/** What a map is given beside the object. */
export type MapTools = typeof kit & {
  /** The name of the file that the object is in, and its line there. */
  readonly file: () => string;
  readonly line: () => number;
  /** The list that the object is from, of those that the map names. */
  readonly list: () => string | undefined;
  /** The address of a file of the export, if --files-url says where they are published. */
  readonly media: (path: unknown) => string | undefined;
  /** The name of the user who made the export, if --export-user says it. */
  readonly user: () => string | undefined;
};

const isNothing = (value: unknown) => value === undefined || value === null || value === '';

/** `date` and `url` throw on what they cannot convert. Of nothing, `id` throws, `text` makes '', and the others give undefined. */
export const kit = Object.freeze({ id: makeId, text: readHtml, date: readDate, url: readUrl });

/** The same number for the same text, always and everywhere: 63 bits of its SHA-256. */
function makeId(text: unknown): string {
  if (isNothing(text)) throw new Error('kit.id was given no text');
  const bits = BigInt.asUintN(
    Number(ID_BITS),
    BigInt(`0x${hash('sha256', String(text), 'hex').slice(0, 16)}`),
  );
  return String(bits === 0n ? 1n : bits);
}

/**
 * A date as `YYYY-MM-DD HH:MM:SS` in UTC: from ISO 8601, RFC 2822, Twitter, a Date, or (milli)seconds since 1970; from
 * spreadsheets in the order of day and month that is given.
 */
function readDate(given: unknown, order?: DateOrder): string | undefined {
  if (isNothing(given)) return undefined;
  const text = String(given).trim();
  const date = given instanceof Date ? wireDate(given.getTime()) : readDateText(text, order);
  if (date !== undefined) return date;
  const advice = isSheetDate(text) ? ": kit.date(…, 'dmy') or 'mdy' says which number is the day" : '';
  throw new Error(`not a date: "${brief(given)}"${advice}`);
}

function readDateText(text: string, order: DateOrder | undefined): string | undefined {
  if (order !== undefined && isSheetDate(text)) return utcFromSheet(text, order);
  const { day, zone = '' } = NAMED_DATE.exec(text)?.groups ?? {};
  if (day !== undefined) {
    // JavaScript takes 30 February for 2 March.
    const isReal = new Date(text.replace(zone, 'GMT')).getUTCDate() === Number(day);
    return isReal ? wireDate(Date.parse(text)) : undefined;
  }
  if (!EPOCH.test(text)) return utcFromIso(text);
  const time = Number(text);
  return wireDate(Math.abs(time) < LEAST_MILLISECONDS ? time * 1000 : time);
}

/** A URL, made absolute with the help of `base` if it is relative. */
function readUrl(reference: unknown, base?: string): string | undefined {
  if (isNothing(reference)) return undefined;
  const text = String(reference);
  const url = URL.parse(/^www\./i.test(text) ? `https://${text}` : text, base);
  if (url === null) throw new Error(`not a URL: "${brief(reference)}"`);
  return url.href;
}

const WITHOUT_TEXT = new Set(['script', 'style', 'template', 'title', 'head']);
const BLOCKS = new Set(
  'address article aside blockquote div dl dt dd fieldset figcaption figure footer form header hr li main nav ol pre section table tr ul'.split(
    ' ',
  ),
);
const PARAGRAPHS = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6']);

/** The text of an HTML fragment: without tags, with line breaks where a browser would show them. */
function readHtml(html: unknown): string {
  if (isNothing(html)) return '';
  let text = '';
  let hidden = 0;
  const breakAt = (name: string) => {
    if (PARAGRAPHS.has(name)) text += '\n\n';
    else if (BLOCKS.has(name)) text += '\n';
  };
  const parser = new Parser({
    onopentagname(name) {
      if (WITHOUT_TEXT.has(name)) hidden++;
      if (name === 'br') text += '\n';
      breakAt(name);
    },
    onclosetag(name) {
      if (WITHOUT_TEXT.has(name)) hidden--;
      breakAt(name);
    },
    ontext(part) {
      if (hidden === 0) text += part.replace(/[ \t\r\n\f]+/g, ' ');
    },
  });
  parser.end(String(html));
  return text
    .replaceAll('\u00a0', ' ')
    .replace(/ *\n */g, '\n')
    .replace(/ {2,}/g, ' ')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
