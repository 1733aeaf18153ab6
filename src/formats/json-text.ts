// The JSON text of one value: a record, or a response body with a list of records.
import { isUtf8 } from 'node:buffer';
import type { RawRecord } from '../records/recognise.ts';
import { isWrittenNumber, parseKeepingDigits } from '../records/scalar.ts';
import { COLLECTIONS } from '../variants.ts';
import { type Entries, type Entry, excerpt, LONGEST_RECORD, oneLine, problemAt, tooLong } from './entry.ts';

const REPLACEMENT = '\uFFFD';

/** Reads the bytes of one value. */
export function readBytes(bytes: Buffer, line: number, longest = LONGEST_RECORD): Entries {
  if (bytes.length > longest) return tooLong(line, bytes);
  const text = bytes.toString();
  return isBroken(text, bytes) ? problemAt(line, 'not valid UTF-8', text) : readText(text, line);
}

/** Decoding shows broken UTF-8 as U+FFFD, but so does a text that really holds this character. */
export function isBroken(text: string, bytes: Buffer): boolean {
  return text.includes(REPLACEMENT) && !isUtf8(bytes);
}

/** Reads the text of one value. */
export function readText(text: string, line: number): Entries {
  const read = readValue(text);
  if ('problem' in read) return problemAt(line, read.problem, text);
  const { value } = read;
  if (!isObject(value)) return problemAt(line, notRecord(value), text);
  const items = findItems(value);
  return items === undefined ? { line, value, text: () => oneLine(text) } : itemEntries(items, line);
}

/** Parses a text, with or without trailing commas. Numbers keep their digits. */
function readValue(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: parse(text) };
  } catch {
    try {
      return { value: parse(withoutTrailingCommas(text)) };
    } catch (error) {
      return { problem: `not valid JSON: ${describeSyntaxError(error as Error)}` };
    }
  }
}

/** The object in a response body, which may begin with a byte order mark; otherwise what is wrong with it. */
export function readBody(body: Buffer): RawRecord | string {
  const bytes = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
  const text = bytes.toString();
  if (isBroken(text, bytes)) return 'not valid UTF-8';
  const read = readValue(text);
  if ('problem' in read) return /^\s*</.test(text) ? 'a web page instead of JSON' : read.problem;
  return isObject(read.value) ? read.value : `${describeType(read.value)} instead of an object`;
}

/** The first of these members that is a list. */
export const findList = (value: RawRecord, names: readonly string[]): unknown[] | undefined =>
  names.map((name) => value[name]).find((list) => Array.isArray(list));

/** Whether a text is one object and nothing else. */
export function isWholeObject(text: string): boolean {
  const read = readValue(text);
  return 'value' in read && isObject(read.value);
}

export function describeType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (isWrittenNumber(value)) return 'a number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const notRecord = (value: unknown) => `expected a record, a JSON object, but got ${describeType(value)}`;

export function isObject(value: unknown): value is RawRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isWrittenNumber(value);
}

// Where JavaScript may print a number otherwise than it is written: with a fraction, an exponent, many digits, or -0.
const NOTABLE_NUMBER = /[:[,\s](?:-?\d{16}|-?\d+[.eE]|-0)/;

function parse(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // Most records hold only strings, and looking at those costs less than searching every text.
  if (isObject(value) && holdsOnlyStrings(value)) return value;
  return NOTABLE_NUMBER.test(text) ? parseKeepingDigits(text) : value;
}

function holdsOnlyStrings(value: RawRecord): boolean {
  for (const name in value) if (typeof value[name] !== 'string') return false;
  return true;
}

/** The list in a saved response body, which is its one member. */
function findItems(value: RawRecord): unknown[] | undefined {
  const name = COLLECTIONS.find((collection) => collection in value);
  const items = name === undefined ? undefined : value[name];
  return Array.isArray(items) && Object.keys(value).length === 1 ? items : undefined;
}

function* itemEntries(items: readonly unknown[], line: number): Generator<Entry> {
  for (const item of items) {
    const text = () => writeJson(item);
    if (isObject(item)) yield { line, value: item, text };
    else yield { line, problem: notRecord(item), text };
  }
}

/** JSON.stringify cannot write what is nested very deeply, or a cycle. */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value, (_member, one) => (typeof one === 'bigint' ? String(one) : one)) ?? '';
  } catch {
    return JSON.stringify({ record: 'cannot be written as JSON' });
  }
}

/** V8's message without its quotation of the source, which may be long. */
function describeSyntaxError({ name, message }: Error): string {
  if (name === 'RangeError') return 'it is nested too deeply';
  const placed = /^(.*?)(?: in JSON)? at position (\d+)/s.exec(message);
  if (placed) return `${uncapitalised(placed[1] as string)} at character ${Number(placed[2]) + 1}`;
  const token = /^Unexpected token (?:'(.+?)',|(\S+))/su.exec(message);
  if (token) return `unexpected ${excerpt(token[1] ?? token[2] ?? '')}`;
  return message.startsWith('Unexpected end') ? 'it ends too early' : uncapitalised(message.slice(0, 80));
}

function uncapitalised(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}

/**
 * Strict JSON forbids trailing commas, and saved response bodies have them. Replaces each comma that follows a value and
 * ends an object, an array or the text by a blank, so that places in a parser's message stay right.
 */
function withoutTrailingCommas(text: string): string {
  let mended = '';
  let copied = 0;
  let afterValue = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    if (isBlank(character)) continue;
    if (character === ',' && afterValue && endsGroup(text, at + 1)) {
      mended += `${text.slice(copied, at)} `;
      copied = at + 1;
    }
    if (character === '"') at = endOfString(text, at);
    afterValue = !'[{:,'.includes(character);
  }
  return mended + text.slice(copied);
}

function endsGroup(text: string, from: number): boolean {
  let at = from;
  while (isBlank(text[at])) at++;
  return at === text.length || text[at] === '}' || text[at] === ']';
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t';
}

/** Where the string that opens at `from` closes; the text's length if it never does. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return Math.min(at, text.length);
}
