// CSV whose header names the members. Rows are cut here, so that lines are counted and a bad row spoils no
// other; csv-parse takes them apart, many at a time.
import { parse } from 'csv-parse/sync';
import { SCHEMAS } from '../records/schemas.ts';
import { createCarry, type Found, glimpse, LONGEST, problemAt, tooLong } from './found.ts';
import { isBroken } from './json-text.ts';

const [TAB, NEWLINE, QUOTE, COMMA, SEMICOLON] = [9, 10, 34, 44, 59];
const MEMBERS = new Set(Object.values(SCHEMAS).flatMap(({ properties }) => Object.keys(properties)));

interface Row {
  readonly line: number;
  readonly bytes: Buffer;
}

interface Header {
  readonly names: readonly string[];
  readonly delimiter: string;
}

export async function* readCsv(chunks: AsyncIterable<Buffer>, firstLine: number): AsyncGenerator<Found[]> {
  let header: Header | undefined;
  for await (const rows of cutRows(chunks, firstLine)) {
    const found: Found[] = [];
    header ??= readHeader(rows.shift() as Row, found);
    if (header) readRows(rows, header, found);
    if (found.length > 0) yield found;
    if (!header) return;
  }
}

function readHeader(row: Row, found: Found[]): Header | undefined {
  const text = textOf(row, found);
  if (text === undefined) return undefined;
  const bare = text.replace(/"[^"]*"/g, '');
  const delimiter = [',', ';', '\t'].reduce((most, one) =>
    count(bare, one) > count(bare, most) ? one : most,
  );
  const names = cellsOf([text], delimiter)?.[0]?.map((name) => name.trim()) ?? [];
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (names.some((name) => MEMBERS.has(name)) && twice === undefined) return { names, delimiter };

  const known = 'JSON, or a CSV header that names the members, such as id,username,name';
  const problem =
    twice && MEMBERS.has(twice)
      ? `the header names ${glimpse(twice)} twice`
      : `expected ${known}, but got ${glimpse(text)}`;
  found.push(problemAt(row.line, problem, asJson(text)));
  return undefined;
}

function readRows(rows: Row[], { names, delimiter }: Header, found: Found[]): void {
  const texts = rows.map((row) => textOf(row, found));
  const readable = texts.filter((text) => text !== undefined);
  const together = cellsOf(readable, delimiter);
  let next = 0;
  rows.forEach(({ line }, i) => {
    const text = texts[i];
    if (text === undefined) return;
    const cells = together ? together[next++] : cellsOf([text], delimiter)?.[0];
    if (cells) found.push(recordOf(cells, names, line));
    else found.push(problemAt(line, 'a quote is not closed, or stands where none may', asJson(text)));
  });
  if (readable.length < rows.length) found.sort((one, other) => one.line - other.line);
}

function recordOf(cells: string[], names: readonly string[], line: number): Found {
  const named = cells.map((cell, i) => [names[i] ?? `cell ${i + 1}`, cell] as const);
  const value = Object.fromEntries(named.filter(([, cell]) => cell !== ''));
  const text = () => JSON.stringify(value);
  if (cells.length === names.length) return { line, value, text };
  return { line, problem: `${cells.length} cells where the header has ${names.length}`, text };
}

/** Each row's cells, or nothing when one of the rows is malformed. */
function cellsOf(rows: string[], delimiter: string): string[][] | undefined {
  try {
    const cells = parse(rows.join('\n'), { delimiter, record_delimiter: '\n', relax_column_count: true });
    return cells.length === rows.length ? cells : undefined;
  } catch {
    return undefined;
  }
}

function textOf({ line, bytes }: Row, found: Found[]): string | undefined {
  const text = bytes.toString('utf8', 0, LONGEST);
  if (bytes.length <= LONGEST && !isBroken(text, bytes))
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  if (bytes.length > LONGEST) found.push(tooLong(line, bytes));
  else found.push(problemAt(line, 'not valid UTF-8', asJson(text)));
  return undefined;
}

/** A row that could not be taken apart, as a line that belongs in NDJSON. */
function asJson(row: string): string {
  return JSON.stringify({ row });
}

function count(text: string, character: string): number {
  return text.split(character).length - 1;
}

/** Cuts at line breaks outside quotes; only at the start of a cell does a quote open. */
async function* cutRows(chunks: AsyncIterable<Buffer>, firstLine: number): AsyncGenerator<Row[]> {
  const carry = createCarry();
  let state: 'cell start' | 'cell' | 'quoted' | 'quote in quotes' = 'cell start';
  let line = firstLine;
  let begun = firstLine;
  let rows: Row[] = [];

  function endRow(bytes: Buffer) {
    if (!isBlank(bytes)) rows.push({ line: begun, bytes });
    begun = line;
  }

  function cut(chunk: Buffer) {
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (byte === NEWLINE) line++;
      if (state === 'quoted') {
        if (byte === QUOTE) state = 'quote in quotes';
      } else if (byte === QUOTE) {
        if (state !== 'cell') state = 'quoted';
      } else if (byte === NEWLINE) {
        endRow(carry.take(chunk.subarray(start, at)));
        start = at + 1;
        state = 'cell start';
      } else state = byte === COMMA || byte === SEMICOLON || byte === TAB ? 'cell start' : 'cell';
    }
    carry.add(chunk.subarray(start));
  }

  for await (const chunk of chunks) {
    rows = [];
    cut(chunk);
    if (rows.length > 0) yield rows;
  }
  rows = [];
  endRow(carry.take(Buffer.alloc(0)));
  if (rows.length > 0) yield rows;
}

function isBlank(bytes: Buffer): boolean {
  return bytes.length <= LONGEST && bytes.toString('latin1').trim() === '';
}
