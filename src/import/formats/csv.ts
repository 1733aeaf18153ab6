// CSV with a header that names the members.
import { KIND_NAMES, type KindName } from '../../records/kinds.ts';
import type { RawRecord } from '../../records/normalise.ts';
import { counted } from '../../records/printable.ts';
import { MEMBERS, memberName } from '../../records/schemas.ts';
import { type Entry, excerpt, LONGEST_RECORD, problemAt, type RecordReader, tooLong } from './entry.ts';
import { isBroken } from './json-text.ts';
import { type FileRow, RowReader } from './rows.ts';

const PROPERTIES = Object.values(MEMBERS).flatMap((members) => Object.entries(members));
const KNOWN_NAMES = new Set(PROPERTIES.map(([name]) => name));
const LISTS = PROPERTIES.filter(([, schema]) => schema['x-form'] === 'list').map(([name]) => name);
const [NEWLINE, QUOTE] = [10, 34];
const DELIMITERS = [',', ';', '\t'];
/** Excel reads and writes it before the header. */
const SEPARATOR_LINE = /^"?sep=([^"\r\n])"?\r?$/i;

const NOT_UTF8 = 'not valid UTF-8: name its encoding, as in --encoding windows-1252';

interface Header {
  readonly names: readonly string[];
  readonly delimiter: string;
  /** The kind of every row, if only one has all these members. */
  readonly kind: KindName | undefined;
}

/** With `isMapped`, the header may name anything. */
export function createCsvReader(firstLine: number, isMapped = false): RecordReader {
  let delimiters = DELIMITERS;
  let header: Header | undefined;
  let isRefused = false;

  function read(row: FileRow): readonly Entry[] {
    if (isRefused) return [];
    if (header !== undefined) return [readRow(row, header, isMapped)];
    const separator = SEPARATOR_LINE.exec(row.bytes.toString('latin1', 0, 10))?.[1];
    if (separator !== undefined && delimiters === DELIMITERS) {
      delimiters = [separator];
      return [];
    }
    const found = readHeader(row, isMapped, delimiters);
    isRefused = 'line' in found;
    if ('line' in found) return [found];
    header = found;
    delimiters = [found.delimiter];
    return [];
  }

  return new RowReader(firstLine, (bytes, from) => findRowEnd(bytes, from, delimiters), read);
}

/** The place of the line feed that ends the row at `from`: others stand in quotation marks. */
function findRowEnd(bytes: Buffer, from: number, delimiters: readonly string[]): number {
  const [one, two = one, three = one] = delimiters.map((delimiter) => delimiter.charCodeAt(0));
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) {
      do at = bytes.indexOf(QUOTE, at + 1) + 1;
      while (at > 0 && bytes[at] === QUOTE);
      if (at === 0) return -1;
    }
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === NEWLINE) return at;
      if (byte === one || byte === two || byte === three) break;
    }
  }
  return -1;
}

function readHeader(row: FileRow, isMapped: boolean, delimiters: readonly string[]): Header | Entry {
  const text = decodeRow(row);
  if (typeof text !== 'string') return text;
  const refuse = (problem: string) => problemAt(row.line, problem, asJson(text));
  if (text.includes('\r')) return refuse('lines must end with a line feed, not with a return alone');
  const unquoted = text.replace(/"[^"]*"/g, '');
  const delimiter = delimiters.reduce((most, one) =>
    count(unquoted, one) > count(unquoted, most) ? one : most,
  );
  const cells = splitCells(text, delimiter);
  if (cells === undefined) return refuse(BAD_QUOTES);
  const names = cells.map((name) => (isMapped ? name.trim() : memberName(name.trim())));
  const isNamed = (name: string) => (isMapped ? name !== '' : KNOWN_NAMES.has(name));
  const twice = names.find((name, index) => isNamed(name) && names.indexOf(name) !== index);
  if (twice !== undefined) return refuse(`the header names ${excerpt(twice)} twice`);
  if (names.some(isNamed)) return { names, delimiter, kind: isMapped ? undefined : kindOfColumns(names) };
  const expected = 'expected JSON, or a CSV header that names the members, such as id,username,name';
  return refuse(`${expected}, but got ${excerpt(text)}`);
}

function kindOfColumns(names: readonly string[]): KindName | undefined {
  const known = names.filter((name) => KNOWN_NAMES.has(name));
  const [kind, other] = KIND_NAMES.filter((one) => known.every((name) => name in MEMBERS[one]));
  return other === undefined ? kind : undefined;
}

/** People write a space after a comma; the words of tags and skills have none around them. */
export function trimLists(record: RawRecord): RawRecord {
  const trim = (word: unknown) => (typeof word === 'string' ? word.trim() : word);
  const trimmed: RawRecord = {};
  for (const name of LISTS) {
    const list = record[name];
    if (typeof list === 'string') trimmed[name] = readArray(list) ?? list.split(',').map(trim).join(',');
    else if (Array.isArray(list)) trimmed[name] = list.map(trim);
  }
  return Object.keys(trimmed).length === 0 ? record : { ...record, ...trimmed };
}

const ARRAY_TEXT = String.raw`"(?:[^"\\]|\\.)*"|[^"{},\\]+`;
const ARRAY = new RegExp(`^\\{(?:(?:${ARRAY_TEXT})(?:,(?:${ARRAY_TEXT}))*)?\\}$`, 's');

/** The texts of an array as PostgreSQL writes it, such as `{ink,"oil paint"}`; undefined for any other text. */
function readArray(text: string): string[] | undefined {
  if (!ARRAY.test(text)) return undefined;
  const texts = text.slice(1, -1).match(new RegExp(ARRAY_TEXT, 'gs')) ?? [];
  return texts
    .filter((one) => one !== 'NULL')
    .map((one) => (one[0] === '"' ? one.slice(1, -1).replace(/\\(.)/gs, '$1') : one).trim());
}

/** An empty cell is an absent member. */
function readRow(row: FileRow, { names, delimiter, kind }: Header, isMapped: boolean): Entry {
  const { line } = row;
  const source = decodeRow(row);
  if (typeof source !== 'string') return source;
  const cells = splitCells(source, delimiter);
  if (cells === undefined) return problemAt(line, BAD_QUOTES, asJson(source));
  const named = cells.map((cell, index) => [names[index] ?? `cell ${index + 1}`, cell] as const);
  const given = Object.fromEntries(named.filter(([, cell]) => cell !== ''));
  const value = isMapped ? given : trimLists(given);
  const text = () => JSON.stringify(value);
  if (cells.length === names.length) return { line, value, text, kind };
  return { line, problem: `${counted(cells.length, 'cell')} where the header has ${names.length}`, text };
}

const BAD_QUOTES = 'a quotation mark is not closed, or text follows a closed one';

/** The cells of a row; undefined if quotation marks stand where they must not. */
function splitCells(row: string, delimiter: string): string[] | undefined {
  const cells: string[] = [];
  for (let at = 0; at <= row.length; at++) {
    const start = at;
    if (row[at] === '"') {
      do at = row.indexOf('"', at + 1) + 1;
      while (at > 0 && row[at] === '"');
      if (at === 0 || (at < row.length && row[at] !== delimiter)) return undefined;
      cells.push(row.slice(start + 1, at - 1).replaceAll('""', '"'));
    } else {
      at = row.indexOf(delimiter, start);
      if (at === -1) at = row.length;
      cells.push(row.slice(start, at));
    }
  }
  return cells;
}

/** The row's text, or the problem with it. */
function decodeRow({ line, bytes }: FileRow): string | Entry {
  if (bytes.length > LONGEST_RECORD) return tooLong(line);
  const text = bytes.toString();
  if (isBroken(text, bytes)) return problemAt(line, NOT_UTF8, asJson(text));
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

/** A row that cannot be parsed, as a line of NDJSON. */
const asJson = (row: string) => JSON.stringify({ row });

const count = (text: string, character: string) => text.split(character).length - 1;
