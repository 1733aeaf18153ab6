// Cuts a file into rows, so that lines are counted, a bad row spoils no other, and an endless one takes no memory; and the
// reader of NDJSON. Its rows are records.
import { type Entry, LONGEST_RECORD, type RecordReader, tooLong } from './entry.ts';
import { readBytes } from './json-text.ts';

const NEWLINE = 10;

export interface Row {
  readonly line: number;
  /** Without the line feed at its end. */
  readonly bytes: Buffer;
}

/** The place of the line feed that ends the row at `from`; -1 if that is still to come. */
type FindEnd = (bytes: Buffer, from: number) => number;

export class RowCutter {
  readonly #findEnd: FindEnd;
  #line: number;
  #held: Buffer = Buffer.alloc(0);
  /** Whether the rest of a row that is too long is passed over, up to the next line feed. */
  #isSkipping = false;

  constructor(firstLine: number, findEnd: FindEnd) {
    this.#line = firstLine;
    this.#findEnd = findEnd;
  }

  /** Calls `onRow` with each row that ends in the piece, and with the beginning of one that is too long. */
  cut(piece: Buffer, onRow: (row: Row) => void): void {
    const held = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    let from = 0;
    for (;;) {
      const end = this.#isSkipping ? held.indexOf(NEWLINE, from) : this.#findEnd(held, from);
      if (end === -1) break;
      const bytes = held.subarray(from, end);
      if (!this.#isSkipping && !isBlank(bytes)) onRow({ line: this.#line, bytes });
      this.#isSkipping = false;
      this.#line += countLines(bytes) + 1;
      from = end + 1;
    }
    this.#held = held.subarray(from);
    if (this.#held.length > LONGEST_RECORD) this.#skip(onRow);
  }

  #skip(onRow: (row: Row) => void): void {
    if (!this.#isSkipping) onRow({ line: this.#line, bytes: this.#held });
    this.#isSkipping = true;
    this.#line += countLines(this.#held);
    this.#held = this.#held.subarray(this.#held.length);
  }

  /** Calls `onRow` with what stands behind the last line feed. */
  end(onRow: (row: Row) => void): void {
    if (!this.#isSkipping && !isBlank(this.#held)) onRow({ line: this.#line, bytes: this.#held });
  }
}

const isBlank = (bytes: Buffer) => (bytes[0] ?? 0) <= 32 && bytes.toString('latin1').trim() === '';

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

export class NdjsonReader implements RecordReader {
  readonly #rows: RowCutter;

  constructor(firstLine: number) {
    this.#rows = new RowCutter(firstLine, (bytes, from) => bytes.indexOf(NEWLINE, from));
  }

  read(piece: Buffer): Entry[] {
    const found: Entry[] = [];
    this.#rows.cut(piece, (row) => readLine(row, found));
    return found;
  }

  end(): Entry[] {
    const found: Entry[] = [];
    this.#rows.end((row) => readLine(row, found));
    return found;
  }
}

function readLine({ line, bytes }: Row, found: Entry[]): void {
  if (bytes.length > LONGEST_RECORD) found.push(tooLong(line));
  else for (const entry of readBytes(bytes, line)) found.push(entry);
}
