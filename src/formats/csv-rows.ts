// Cuts CSV into rows, so that lines are counted, a bad row spoils no other, and an endless one takes no memory.
import { createCarry, LONGEST_RECORD } from './entry.ts';

const [TAB, NEWLINE, RETURN, SPACE, QUOTE, COMMA, SEMICOLON] = [9, 10, 13, 32, 34, 44, 59];
const NO_BYTES = Buffer.alloc(0);

export interface CsvRow {
  readonly line: number;
  /** Without the line feed at its end. */
  readonly bytes: Buffer;
  /** False when a quotation mark is never closed, or text follows a closed one. */
  readonly isWellFormed: boolean;
}

export function createRowCutter(firstLine: number) {
  const carry = createCarry();
  const cells = createCells();
  let line = firstLine;
  let start = firstLine;

  function endRow(last: Buffer): CsvRow {
    const row = { line: start, bytes: carry.take(last), isWellFormed: cells.endRow() };
    start = line;
    return row;
  }

  return {
    /** Once the header is read, only this character ends a cell. */
    useDelimiter: cells.useDelimiter,

    *cut(piece: Buffer): Generator<CsvRow> {
      let from = 0;
      for (let at = 0; at < piece.length; at++) {
        const byte = piece[at] as number;
        if (byte === NEWLINE) line++;
        if (byte !== NEWLINE || cells.isInQuotes()) {
          cells.add(byte);
          continue;
        }
        const row = endRow(piece.subarray(from, at));
        from = at + 1;
        if (!isBlank(row.bytes)) yield row;
      }
      carry.add(piece.subarray(from));
    },

    *end(): Generator<CsvRow> {
      const row = endRow(NO_BYTES);
      if (!isBlank(row.bytes)) yield row;
    },
  };
}

type Place = 'cell start' | 'cell' | 'in quotes' | 'after quotes';

/** Where in a cell the last byte stands, and whether its row is well-formed so far. */
function createCells() {
  let delimiter: number | undefined;
  let place: Place = 'cell start';
  let isWellFormed = true;

  const isDelimiter = (byte: number) =>
    delimiter === undefined ? byte === COMMA || byte === SEMICOLON || byte === TAB : byte === delimiter;

  function placeAfter(byte: number): Place {
    if (place === 'in quotes') return byte === QUOTE ? 'after quotes' : 'in quotes';
    if (byte === QUOTE && place !== 'cell') return 'in quotes';
    if (isDelimiter(byte)) return 'cell start';
    // The first half of a line end.
    if (byte === RETURN && place === 'after quotes') return 'after quotes';
    if (place === 'after quotes') isWellFormed = false;
    return 'cell';
  }

  return {
    useDelimiter(character: string): void {
      delimiter = character.charCodeAt(0);
    },

    isInQuotes: (): boolean => place === 'in quotes',

    add(byte: number): void {
      place = placeAfter(byte);
    },

    /** Whether the row is well-formed. */
    endRow(): boolean {
      const result = isWellFormed && place !== 'in quotes';
      place = 'cell start';
      isWellFormed = true;
      return result;
    },
  };
}

function isBlank(bytes: Buffer): boolean {
  if (bytes.length > LONGEST_RECORD || (bytes[0] ?? SPACE) > SPACE) return false;
  return bytes.toString('latin1').trim() === '';
}
