// NDJSON: one record a line. A whole piece is decoded and split at once, which is faster than line by line.
import { createCarry, type Entries, type Entry, type RecordReader } from './entry.ts';
import { isBroken, readBytes, readText } from './json-text.ts';

const NEWLINE = 10;
const NO_BYTES = Buffer.alloc(0);

type Line = string | Buffer;

export function createNdjsonReader(firstLine: number): RecordReader {
  const carry = createCarry();
  let number = firstLine;

  function* readLines(lines: Iterable<Line>): Generator<Entry> {
    for (const line of lines) {
      const entries = readLine(line, number++);
      if (entries === undefined) continue;
      if ('line' in entries) yield entries;
      else yield* entries;
    }
  }

  return {
    *read(piece) {
      const end = piece.lastIndexOf(NEWLINE);
      if (end === -1) return carry.add(piece);
      let start = 0;
      if (carry.length > 0) {
        start = piece.indexOf(NEWLINE) + 1;
        yield* readLines([carry.take(piece.subarray(0, start - 1))]);
      }
      if (start <= end) yield* readLines(splitLines(piece.subarray(start, end)));
      carry.add(piece.subarray(end + 1));
    },
    end: () => readLines([carry.take(NO_BYTES)]),
  };
}

/** Where the piece is not valid UTF-8, lines stay bytes, so that only the broken ones are refused. */
function splitLines(bytes: Buffer): Line[] {
  const text = bytes.toString();
  if (!isBroken(text, bytes)) return text.split('\n');
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return [...lines, bytes.subarray(start)];
}

function readLine(line: Line, number: number): Entries | undefined {
  if (isBlank(line)) return undefined;
  return typeof line === 'string' ? readText(line, number) : readBytes(line, number);
}

function isBlank(line: Line): boolean {
  const first = typeof line === 'string' ? line.charCodeAt(0) : line[0];
  // Nearly every line begins with a brace.
  return first !== 123 && line.toString().trim() === '';
}
