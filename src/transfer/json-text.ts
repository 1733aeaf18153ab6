// The text of one value in JSON, as people and sites really write it, into raw records.
import { isUtf8 } from 'node:buffer';
import { type Found, glimpse, LONGEST, oneLine, problemAt, type RawRecord, tooLong } from './found.ts';

/** The one member of a saved response body. */
export const COLLECTIONS = ['posts', 'Shots', 'Posts'] as const;

const REPLACEMENT = '\uFFFD';
// Where a number may begin, and more digits than a double surely holds.
const LONG_NUMBER = /[:[,\s-]\d{16}/;

/** Reads the bytes of one value; what was in them, or what is wrong with them, goes to `found`. */
export function readBytes(bytes: Buffer, line: number, found: Found[]): void {
  if (bytes.length > LONGEST) {
    found.push(tooLong(line, bytes));
    return;
  }
  const text = bytes.toString();
  if (isBroken(text, bytes)) found.push(problemAt(line, 'not valid UTF-8', text));
  else readText(text, line, found);
}

/** Decoding is what shows broken UTF-8, but an honest U+FFFD looks the same. */
export function isBroken(text: string, bytes: Buffer): boolean {
  return text.includes(REPLACEMENT) && !isUtf8(bytes);
}

/** Reads the text of one value: a record, or a response body, whose records are taken out. */
export function readText(text: string, line: number, found: Found[]): void {
  const read = readValue(text);
  if ('problem' in read) {
    found.push(problemAt(line, read.problem, text));
    return;
  }
  const { value } = read;
  if (!isObject(value)) {
    found.push(problemAt(line, notRecord(value), text));
    return;
  }
  const items = itemsOf(value);
  if (items === undefined) found.push({ line, value, text: () => oneLine(text) });
  else for (const item of items) found.push(foundItem(item, line));
}

/** The value that a text holds, trailing commas or not; long numbers keep their digits. */
export function readValue(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: parse(text) };
  } catch {
    try {
      return { value: parse(withoutTrailingCommas(text)) };
    } catch (error) {
      return { problem: `not valid JSON: ${reason(error as Error)}` };
    }
  }
}

/** Whether a text is one object and nothing else. */
export function isWholeObject(text: string): boolean {
  try {
    return isObject(JSON.parse(withoutTrailingCommas(text)));
  } catch {
    return false;
  }
}

/** Where the string that opens at `from` closes; the text's length when it never does. */
export function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return Math.min(at, text.length);
}

export function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const notRecord = (value: unknown) => `expected a record, a JSON object, but got ${nameOf(value)}`;

export function isObject(value: unknown): value is RawRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (isObject(value) && holdsOnlyStrings(value)) return value;
  return LONG_NUMBER.test(text) ? JSON.parse(text, keepDigits as Reviver) : value;
}

// Strings lose no digits, and most records hold nothing else: looking costs less than searching every text.
function holdsOnlyStrings(value: RawRecord): boolean {
  for (const name in value) if (typeof value[name] !== 'string') return false;
  return true;
}

type Reviver = (key: string, value: unknown) => unknown;

function keepDigits(_key: string, value: unknown, { source }: { source: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  return /^-?\d+$/.test(source) ? BigInt(source) : value;
}

function itemsOf(value: RawRecord): unknown[] | undefined {
  const items = value.posts ?? value.Shots ?? value.Posts;
  return Array.isArray(items) && Object.keys(value).length === 1 ? items : undefined;
}

function foundItem(item: unknown, line: number): Found {
  const text = () => JSON.stringify(item, (_key, value) => (typeof value === 'bigint' ? `${value}` : value));
  if (isObject(item)) return { line, value: item, text };
  return { line, problem: notRecord(item), text };
}

// Blanks take the commas' place, so that the places in a parser's message stay true.
function withoutTrailingCommas(text: string): string {
  let mended = '';
  let kept = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') at = endOfString(text, at);
    else if (text[at] === ',') {
      const comma = at;
      while (isBlank(text[at + 1])) at++;
      const next = text[at + 1];
      if (next !== undefined && next !== '}' && next !== ']') continue;
      mended += `${text.slice(kept, comma)} `;
      kept = comma + 1;
    }
  }
  return mended + text.slice(kept);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t';
}

/** V8's sentence without its quotation of the source, which may be long. */
function reason({ message }: Error): string {
  const placed = /^(.*?)(?: in JSON)? at position (\d+)/s.exec(message);
  if (placed) return `${lower(placed[1] as string)} at character ${Number(placed[2]) + 1}`;
  const token = /^Unexpected token (?:'(.+?)',|(\S+))/su.exec(message);
  if (token) return `unexpected ${glimpse(token[1] ?? token[2] ?? '')}`;
  return message.startsWith('Unexpected end') ? 'it ends too early' : lower(message.slice(0, 80));
}

function lower(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}
