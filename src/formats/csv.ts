// CSV whose header names the members.
import { KIND_NAMES, type KindName } from '../records/kinds.ts';
import { counted } from '../records/printable.ts';
import type { RawRecord } from '../records/recognise.ts';
import { type Member, SCHEMAS } from '../records/schemas.ts';
import { type CsvRow, createRowCutter } from './csv-rows.ts';
import { type Entry, excerpt, LONGEST_RECORD, problemAt, type RecordReader, tooLong } from './entry.ts';
import { isBroken } from './json-text.ts';

const PROPERTIES = Object.values(SCHEMAS).flatMap(({ properties }) => Object.entries<Member>(properties));
const MEMBERS = new Set(PROPERTIES.map(([name]) => name));
const LISTS = PROPERTIES.filter(([, schema]) => schema['x-form'] === 'list').map(([name]) => name);
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
  const cutter = createRowCutter(firstLine);
  let header: Header | undefined;
  let delimiter: string | undefined;
  let isRefused = false;

  function* readRows(rows: Iterable<CsvRow>): Generator<Entry> {
    for (const row of rows) {
      if (isRefused) return;
      if (header !== undefined) {
        yield readRow(row, header, isMapped);
        continue;
      }
      const named = SEPARATOR_LINE.exec(row.bytes.toString('latin1', 0, 10))?.[1];
      if (named !== undefined && delimiter === undefined) {
        delimiter = named;
        cutter.useDelimiter(delimiter);
        continue;
      }
      const found = readHeader(row, isMapped, delimiter);
      isRefused = !('names' in found);
      if (!('names' in found)) return yield found;
      header = found;
      cutter.useDelimiter(found.delimiter);
    }
  }

  return {
    read: (piece) => readRows(cutter.cut(piece)),
    end: () => readRows(cutter.end()),
  };
}

function readHeader(row: CsvRow, isMapped: boolean, separator?: string): Header | Entry {
  const text = decodeRow(row);
  if (typeof text !== 'string') return text;
  if (text.includes('\r'))
    return problemAt(row.line, 'lines must end with a line feed, not with a return alone', asJson(text));
  const unquoted = text.replace(/"[^"]*"/g, '');
  const delimiter =
    separator ??
    DELIMITERS.reduce((most, one) => (count(unquoted, one) > count(unquoted, most) ? one : most));
  const names = splitCells(text, delimiter).map((name) => name.trim());
  const isNamed = (name: string) => (isMapped ? name !== '' : MEMBERS.has(name));
  const twice = names.find((name, index) => isNamed(name) && names.indexOf(name) !== index);
  if (twice !== undefined)
    return problemAt(row.line, `the header names ${excerpt(twice)} twice`, asJson(text));
  if (names.some(isNamed)) return { names, delimiter, kind: isMapped ? undefined : findKind(names) };
  const expected = 'expected JSON, or a CSV header that names the members, such as id,username,name';
  return problemAt(row.line, `${expected}, but got ${excerpt(text)}`, asJson(text));
}

function findKind(names: readonly string[]): KindName | undefined {
  const known = names.filter((name) => MEMBERS.has(name));
  const [kind, other] = KIND_NAMES.filter((one) => known.every((name) => name in SCHEMAS[one].properties));
  return other === undefined ? kind : undefined;
}

/** People write a space after a comma; the words of tags and skills have none around them. */
export function trimLists(record: RawRecord): RawRecord {
  const trim = (word: unknown) => (typeof word === 'string' ? word.trim() : word);
  const trimmed: RawRecord = {};
  for (const name of LISTS) {
    const list = record[name];
    if (typeof list === 'string') trimmed[name] = list.split(',').map(trim).join(',');
    else if (Array.isArray(list)) trimmed[name] = list.map(trim);
  }
  return Object.keys(trimmed).length === 0 ? record : { ...record, ...trimmed };
}

/** An empty cell is an absent member. */
function readRow(row: CsvRow, { names, delimiter, kind }: Header, isMapped: boolean): Entry {
  const source = decodeRow(row);
  if (typeof source !== 'string') return source;
  const cells = splitCells(source, delimiter);
  const named = cells.map((cell, index) => [names[index] ?? `cell ${index + 1}`, cell] as const);
  const given = Object.fromEntries(named.filter(([, cell]) => cell !== ''));
  const value = isMapped ? given : trimLists(given);
  const text = () => JSON.stringify(value);
  if (cells.length === names.length) return { line: row.line, value, text, kind };
  const problem = `${counted(cells.length, 'cell')} where the header has ${names.length}`;
  return { line: row.line, problem, text };
}

/** The cells of a row that is well-formed. */
function splitCells(row: string, delimiter: string): string[] {
  const cells: string[] = [];
  for (let at = 0; at <= row.length; ) {
    let end = at;
    if (row[at] === '"') {
      do end = findCharacter('"', row, end + 1);
      while (row[++end] === '"');
      cells.push(row.slice(at + 1, end - 1).replaceAll('""', '"'));
    } else {
      end = findCharacter(delimiter, row, at);
      cells.push(row.slice(at, end));
    }
    at = end + 1;
  }
  return cells;
}

/** Where a character comes next; the row's end if it does not. */
function findCharacter(character: string, row: string, from: number): number {
  const at = row.indexOf(character, from);
  return at === -1 ? row.length : at;
}

/** The row's text, or the problem with it. */
function decodeRow({ line, bytes, isWellFormed }: CsvRow): string | Entry {
  if (bytes.length > LONGEST_RECORD) return tooLong(line, bytes);
  const text = bytes.toString();
  if (isBroken(text, bytes)) return problemAt(line, NOT_UTF8, asJson(text));
  if (!isWellFormed)
    return problemAt(line, 'a quotation mark is not closed, or text follows a closed one', asJson(text));
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

/** A row that cannot be parsed, as a line of NDJSON. */
const asJson = (row: string) => JSON.stringify({ row });

const count = (text: string, character: string) => text.split(character).length - 1;
