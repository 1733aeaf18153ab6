// CSV whose header names the members; csv-parse takes the rows apart, many at a time.
import { parse } from 'csv-parse/sync';
import { counted } from '../records/printable.ts';
import { SCHEMAS } from '../records/schemas.ts';
import { type CsvRow, createRowCutter } from './csv-rows.ts';
import { type Entry, excerpt, LONGEST_RECORD, problemAt, type RecordReader, tooLong } from './entry.ts';
import { isBroken } from './json-text.ts';

const MEMBERS = new Set(Object.values(SCHEMAS).flatMap(({ properties }) => Object.keys(properties)));
const DELIMITERS = [',', ';', '\t'];
/** Rows that are parsed in one call: enough to be fast, few enough to keep memory small. */
const ROWS_AT_ONCE = 500;

interface Header {
  readonly names: readonly string[];
  readonly delimiter: string;
}

/** With `isMapped`, the header may name anything. */
export function createCsvReader(firstLine: number, isMapped = false): RecordReader {
  const cutter = createRowCutter(firstLine);
  let header: Header | undefined;
  let isRefused = false;

  function* readRows(rows: Iterable<CsvRow>): Generator<Entry> {
    if (isRefused) return;
    let waiting: CsvRow[] = [];
    for (const row of rows) {
      if (header === undefined) {
        const found = readHeader(row, isMapped);
        if (!('names' in found)) {
          isRefused = true;
          return yield found;
        }
        header = found;
        cutter.useDelimiter(found.delimiter);
      } else if (waiting.push(row) === ROWS_AT_ONCE) {
        yield* entriesOf(waiting, header);
        waiting = [];
      }
    }
    if (header !== undefined) yield* entriesOf(waiting, header);
  }

  return {
    read: (piece) => readRows(cutter.cut(piece)),
    end: () => readRows(cutter.end()),
  };
}

function readHeader(row: CsvRow, isMapped: boolean): Header | Entry {
  const text = textOf(row);
  if (typeof text !== 'string') return text;
  const unquoted = text.replace(/"[^"]*"/g, '');
  const delimiter = DELIMITERS.reduce((most, one) =>
    count(unquoted, one) > count(unquoted, most) ? one : most,
  );
  const names = parseRows([text], delimiter)?.[0]?.map((name) => name.trim()) ?? [];
  const isNamed = (name: string) => (isMapped ? name !== '' : MEMBERS.has(name));
  const twice = names.find((name, index) => isNamed(name) && names.indexOf(name) !== index);
  if (twice !== undefined)
    return problemAt(row.line, `the header names ${excerpt(twice)} twice`, asJson(text));
  if (names.some(isNamed)) return { names, delimiter };
  const expected = 'expected JSON, or a CSV header that names the members, such as id,username,name';
  return problemAt(row.line, `${expected}, but got ${excerpt(text)}`, asJson(text));
}

function* entriesOf(rows: readonly CsvRow[], { names, delimiter }: Header): Generator<Entry> {
  const texts = rows.map(textOf);
  const readable = texts.filter((text) => typeof text === 'string');
  const together = parseRows(readable, delimiter);
  let next = 0;
  for (const [index, { line }] of rows.entries()) {
    const text = texts[index] as string | Entry;
    if (typeof text !== 'string') {
      yield text;
      continue;
    }
    const cells = together === undefined ? parseRows([text], delimiter)?.[0] : together[next++];
    yield cells === undefined ? misquoted(line, text) : recordOf(cells, names, line);
  }
}

/** An empty cell is an absent member. */
function recordOf(cells: readonly string[], names: readonly string[], line: number): Entry {
  const named = cells.map((cell, index) => [names[index] ?? `cell ${index + 1}`, cell] as const);
  const value = Object.fromEntries(named.filter(([, cell]) => cell !== ''));
  const text = () => JSON.stringify(value);
  if (cells.length === names.length) return { line, value, text };
  return { line, problem: `${counted(cells.length, 'cell')} where the header has ${names.length}`, text };
}

/** Each row's cells; undefined when one of the rows cannot be parsed. */
function parseRows(rows: readonly string[], delimiter: string): string[][] | undefined {
  try {
    const options = { delimiter, record_delimiter: '\n', relax_column_count: true, relax_quotes: true };
    const cells: string[][] = parse(rows.join('\n'), options);
    return cells.length === rows.length ? cells : undefined;
  } catch {
    return undefined;
  }
}

/** The row's text, or the problem with it. */
function textOf({ line, bytes, isWellFormed }: CsvRow): string | Entry {
  if (bytes.length > LONGEST_RECORD) return tooLong(line, bytes);
  const text = bytes.toString();
  if (isBroken(text, bytes)) return problemAt(line, 'not valid UTF-8', asJson(text));
  if (!isWellFormed) return misquoted(line, text);
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

const misquoted = (line: number, text: string) =>
  problemAt(line, 'a quotation mark is not closed, or text follows a closed one', asJson(text));

/** A row that cannot be parsed, as a line of NDJSON. */
const asJson = (row: string) => JSON.stringify({ row });

const count = (text: string, character: string) => text.split(character).length - 1;
