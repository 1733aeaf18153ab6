// The JSON text of one value: a record, or a response body with a list of records.

import { isUtf8 } from 'node:buffer';
import type { RawRecord } from '../../records/normalise.ts';
import { printable } from '../../records/printable.ts';
import { isObject, isWrittenNumber, parseKeepingDigits } from '../../records/scalar.ts';
import { toError } from '../../records/thrown.ts';
import { COLLECTIONS } from '../../variants.ts';
import { type Entry, excerpt, oneLine, problemAt } from './entry.ts';

const REPLACEMENT = '\uFFFD';

/** The record in the bytes of one value, or those of the response body that it is. */
export function readBytes(bytes: Buffer, line: number, list?: string): Entry[] {
  const text = bytes.toString();
  const read = isBroken(text, bytes) ? { problem: 'not valid UTF-8' } : readValue(text);
  if ('problem' in read) return [problemAt(line, read.problem, text)];
  const { value } = read;
  if (!isObject(value)) return [problemAt(line, notRecord(value), text)];
  const repeated = findRepeated(text, value);
  if (repeated !== undefined) return [problemAt(line, `names ${excerpt(repeated)} twice`, text)];
  const items = findItems(value);
  return items === undefined ? [{ line, value, list, text: () => oneLine(text) }] : itemEntries(items, line);
}

// JSON.parse keeps the last of two members with one name, and says nothing of the other. That the text has more names than the
// value has members is found out at little cost.

const [SPACE, QUOTE, COLON, BACKSLASH] = [32, 34, 58, 92];

/** A name that an object in valid JSON has twice. */
function findRepeated(text: string, value: RawRecord): string | undefined {
  return countNames(text) === countMembers(value) ? undefined : nameRepeated(text);
}

function countNames(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    at = stringEnd(text, at);
    if (isName(text, at)) count++;
  }
  return count;
}

/** Behind the string that begins at a place. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** Whether the string that ends at a place is the name of a member. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (text.charCodeAt(at) <= SPACE) at++;
  return text.charCodeAt(at) === COLON;
}

function countMembers(value: RawRecord): number {
  let count = 0;
  const objects: object[] = [value];
  for (const object of objects)
    for (const member of Object.values(object)) {
      if (!Array.isArray(object)) count++;
      if (typeof member === 'object' && member !== null && !isWrittenNumber(member)) objects.push(member);
    }
  return count;
}

function nameRepeated(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '{') open.push(new Set());
    if (text[at] === '}') open.pop();
    if (text[at] !== '"') continue;
    const start = at;
    at = stringEnd(text, start);
    const names = isName(text, at) ? open.at(-1) : undefined;
    const name: string = JSON.parse(text.slice(start, at--));
    if (names?.has(name)) return name;
    names?.add(name);
  }
  return undefined;
}

/** Decoding shows broken UTF-8 as U+FFFD, but so does a text that really holds this character. */
export const isBroken = (text: string, bytes: Buffer) => text.includes(REPLACEMENT) && !isUtf8(bytes);

/** Parses a text, with or without trailing commas. Numbers keep their digits. */
function readValue(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: parse(text) };
  } catch {
    try {
      return { value: parse(withoutTrailingCommas(text)) };
    } catch (error) {
      return { problem: `not valid JSON: ${describeSyntaxError(toError(error))}` };
    }
  }
}

/** The object in a response body, which may begin with a byte order mark; otherwise what is wrong with it. */
export function parseBody(body: Buffer): RawRecord | string {
  const bytes = withoutMark(body);
  const text = bytes.toString();
  const read = isBroken(text, bytes) ? { problem: 'not valid UTF-8' } : readValue(text);
  if ('problem' in read) return isMarkup(bytes) ? NOT_JSON : read.problem;
  return isObject(read.value) ? read.value : `${describeType(read.value)} instead of an object`;
}

export const NOT_JSON = 'a web page instead of JSON';

/** Whether a body is HTML or XML. */
export const isMarkup = (body: Buffer) => /^\ufeff?\s*</.test(body.toString('utf8', 0, 1024));

/** Whether a body is not JSON at all, as one that is empty or was cut off. */
export const isCutOff = (body: Buffer) => 'problem' in readValue(withoutMark(body).toString());

const withoutMark = (body: Buffer) =>
  body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;

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

// Where JavaScript may print a number otherwise than it is written: with a fraction, an exponent, many digits, or -0.
const NOTABLE_NUMBER = /[:[,\s](?:-?\d{16}|-?\d+[.eE]|-0)/;

const parse = (text: string): unknown =>
  NOTABLE_NUMBER.test(text) ? parseKeepingDigits(text) : JSON.parse(text);

/** Lists of records in an object: those of saved response bodies, and of files as json-server has them. */
export const LIST_NAMES: readonly string[] = [...COLLECTIONS, 'users', 'profiles', 'shots'];

/** The lists in an object that begins with one. */
function findItems(value: RawRecord): unknown[] | undefined {
  const isList = (name: string) => LIST_NAMES.includes(name) && Array.isArray(value[name]);
  for (const first in value)
    return isList(first)
      ? Object.keys(value).flatMap((name) => (isList(name) ? value[name] : []))
      : undefined;
  return undefined;
}

const itemEntries = (items: readonly unknown[], line: number) =>
  items.map((item): Entry => {
    const text = () => writeJson(item);
    return isObject(item) ? { line, value: item, text } : { line, problem: notRecord(item), text };
  });

/** JSON.stringify cannot write what is nested very deeply, or a cycle. */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value, (_member, one) => (typeof one === 'bigint' ? String(one) : one)) ?? '';
  } catch {
    return JSON.stringify({ record: 'cannot be written as JSON' });
  }
}

/** V8's message, in which a place is a character of the record. */
function describeSyntaxError({ name, message }: Error): string {
  if (name === 'RangeError') return 'it is nested too deeply';
  return printable(message.replace(/ in JSON| \(line.*| is not valid JSON$/gs, ''));
}

/**
 * Strict JSON forbids trailing commas, and saved response bodies have them. Replaces each comma that follows a value and
 * ends an object, an array or the text by a blank, so that places in a parser's message stay right.
 */
const withoutTrailingCommas = (text: string) =>
  text.replace(/"(?:[^"\\]|\\.)*"?|(?<=[^\s[{:,]\s*),(?=\s*(?:[}\]]|$))/gs, (found) =>
    found === ',' ? ' ' : found,
  );
