// Cuts a file into rows, so that lines are counted, a bad row spoils no other, and an endless one takes no memory; and the
// reader of NDJSON, whose rows are records.
import { type Entry, LONGEST_RECORD, type RecordReader, tooLong } from './entry.ts';
import { readBytes } from './json-text.ts';

const NEWLINE = 10;

export interface Row {
  readonly line: number;
  /** Without the line feed at its end. */
  readonly bytes: Buffer;
}

/** `findEnd` gives the place of the line feed that ends the row at `from`; -1 if that is still to come. */
export function createRowCutter(firstLine: number, findEnd: (bytes: Buffer, from: number) => number) {
  let held: Buffer = Buffer.alloc(0);
  let line = firstLine;
  /** Whether the rest of a row that is too long is passed over, up to the next line feed. */
  let isSkipping = false;

  function* cut(piece: Buffer): Generator<Row> {
    held = held.length === 0 ? piece : Buffer.concat([held, piece]);
    let from = 0;
    for (;;) {
      const end = isSkipping ? held.indexOf(NEWLINE, from) : findEnd(held, from);
      if (end === -1) break;
      const row = { line, bytes: held.subarray(from, end) };
      if (!isSkipping && !isBlank(row.bytes)) yield row;
      isSkipping = false;
      line += countLines(row.bytes) + 1;
      from = end + 1;
    }
    held = held.subarray(from);
    if (held.length <= LONGEST_RECORD) return;
    if (!isSkipping) yield { line, bytes: held };
    isSkipping = true;
    line += countLines(held);
    held = held.subarray(held.length);
  }

  /** What stands behind the last line feed. */
  function* end(): Generator<Row> {
    if (!isSkipping && !isBlank(held)) yield { line, bytes: held };
  }

  return { cut, end };
}

const isBlank = (bytes: Buffer) => (bytes[0] ?? 0) <= 32 && bytes.toString('latin1').trim() === '';

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

export function createNdjsonReader(firstLine: number): RecordReader {
  const cutter = createRowCutter(firstLine, (bytes, from) => bytes.indexOf(NEWLINE, from));

  function* readRows(rows: Iterable<Row>): Generator<Entry> {
    for (const { line, bytes } of rows)
      if (bytes.length > LONGEST_RECORD) yield tooLong(line);
      else yield* readBytes(bytes, line);
  }

  return { read: (piece) => readRows(cutter.cut(piece)), end: () => readRows(cutter.end()) };
}
