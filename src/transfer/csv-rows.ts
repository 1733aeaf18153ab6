// Cuts CSV into rows, so that lines are counted, a bad row spoils no other, and an endless one takes no memory.
import { createCarry } from './carry.ts';
import { LONGEST_RECORD } from './entry.ts';

const [TAB, NEWLINE, RETURN, SPACE, QUOTE, COMMA, SEMICOLON] = [9, 10, 13, 32, 34, 44, 59];
const NO_BYTES = Buffer.alloc(0);

export interface CsvRow {
  readonly line: number;
  /** Without the line feed or lone return at its end. */
  readonly bytes: Buffer;
  /** False when a quotation mark is never closed, or text follows a closed one. */
  readonly isWellFormed: boolean;
}

type Place = 'cell start' | 'cell' | 'in quotes' | 'after quotes';

export function createRowCutter(firstLine: number) {
  const carry = createCarry();
  let delimiter: number | undefined;
  /** Whether a lone return ends a row: the end of the first row decides. */
  let returnEndsRow: boolean | undefined;
  let endedByReturn = false;
  let place: Place = 'cell start';
  let isWellFormed = true;
  let line = firstLine;
  let start = firstLine;

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

  function endRow(last: Buffer): CsvRow {
    const row = { line: start, bytes: carry.take(last), isWellFormed: isWellFormed && place !== 'in quotes' };
    place = 'cell start';
    isWellFormed = true;
    start = line;
    return row;
  }

  return {
    /** Once the header is read, only this character ends a cell. */
    useDelimiter(character: string): void {
      delimiter = character.charCodeAt(0);
    },

    *cut(piece: Buffer): Generator<CsvRow> {
      let from = 0;
      for (let at = 0; at < piece.length; at++) {
        const byte = piece[at] as number;
        if (endedByReturn) {
          endedByReturn = false;
          returnEndsRow ??= byte !== NEWLINE;
          if (byte === NEWLINE) {
            from = at + 1;
            continue;
          }
        }
        const endsLine = byte === NEWLINE || (byte === RETURN && returnEndsRow !== false);
        if (endsLine) line++;
        if (!endsLine || place === 'in quotes') {
          place = placeAfter(byte);
          continue;
        }
        endedByReturn = byte === RETURN;
        if (!endedByReturn) returnEndsRow ??= false;
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

function isBlank(bytes: Buffer): boolean {
  if (bytes.length > LONGEST_RECORD || (bytes[0] ?? SPACE) > SPACE) return false;
  return bytes.toString('latin1').trim() === '';
}
