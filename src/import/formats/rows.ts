// Cuts a file into rows, so that lines are counted, a bad row spoils no other, and an endless one takes no memory; and the
// reader of NDJSON. Its rows are records.
import { type Entry, LONGEST_RECORD, type RecordReader, tooLong } from './entry.ts';
import { readBytes } from './json-text.ts';

const NEWLINE = 10;

export interface FileRow {
  readonly line: number;
  /** Without the line feed at its end. */
  readonly bytes: Buffer;
}

/** The place of the line feed that ends the row at `from`; -1 if that is still to come. */
type FindEnd = (bytes: Buffer, from: number) => number;

/** Reads rows one by one: `readRow` makes entries of each, and of the beginning of one that is too long. */
export class RowReader implements RecordReader {
  readonly #findEnd: FindEnd;
  readonly #readRow: (row: FileRow) => readonly Entry[];
  #line: number;
  #held: Buffer = Buffer.alloc(0);
  /** Whether the rest of a row that is too long is passed over, up to the next line feed. */
  #isSkipping = false;

  constructor(firstLine: number, findEnd: FindEnd, readRow: (row: FileRow) => readonly Entry[]) {
    this.#line = firstLine;
    this.#findEnd = findEnd;
    this.#readRow = readRow;
  }

  read(piece: Buffer): Entry[] {
    const found: Entry[] = [];
    const held = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    let from = 0;
    for (;;) {
      const end = this.#isSkipping ? held.indexOf(NEWLINE, from) : this.#findEnd(held, from);
      if (end === -1) break;
      const bytes = held.subarray(from, end);
      this.#add(bytes, found);
      this.#isSkipping = false;
      this.#line += countLines(bytes) + 1;
      from = end + 1;
    }
    this.#held = held.subarray(from);
    if (!this.#isSkipping && this.#held.length <= LONGEST_RECORD) return found;
    this.#add(this.#held, found);
    this.#isSkipping = true;
    // Pieces that were joined first would leave garbage several times as large as the row.
    this.#line += countLines(this.#held);
    this.#held = Buffer.alloc(0);
    return found;
  }

  /** What stands behind the last line feed. */
  end(): Entry[] {
    const found: Entry[] = [];
    this.#add(this.#held, found);
    return found;
  }

  #add(bytes: Buffer, found: Entry[]): void {
    if (this.#isSkipping || isBlank(bytes)) return;
    for (const entry of this.#readRow({ line: this.#line, bytes })) found.push(entry);
  }
}

const isBlank = (bytes: Buffer) => (bytes[0] ?? 0) <= 32 && bytes.toString('latin1').trim() === '';

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

export const createNdjsonReader = (firstLine: number) =>
  new RowReader(firstLine, (bytes, from) => bytes.indexOf(NEWLINE, from), readLine);

const readLine = ({ line, bytes }: FileRow) =>
  bytes.length > LONGEST_RECORD ? [tooLong(line)] : readBytes(bytes, line);
