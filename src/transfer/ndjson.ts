// One record a line: a batch of whole lines is decoded at once, and JSON.parse does the rest.
import { createCarry, type Found, LONGEST } from './found.ts';
import { isBroken, readBytes, readText } from './json-text.ts';

const NEWLINE = 10;

export async function* readNdjson(chunks: AsyncIterable<Buffer>, firstLine: number): AsyncGenerator<Found[]> {
  const carry = createCarry();
  let line = firstLine;

  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(NEWLINE);
    if (end === -1) {
      carry.add(chunk);
      continue;
    }
    const found: Found[] = [];
    let start = 0;
    if (carry.length > 0) {
      start = chunk.indexOf(NEWLINE) + 1;
      readLine(carry.take(chunk.subarray(0, start - 1)), line++, found);
    }
    if (start <= end) line += readLines(chunk.subarray(start, end), line, found);
    carry.add(chunk.subarray(end + 1));
    if (found.length > 0) yield found;
  }

  const found: Found[] = [];
  readLine(carry.take(Buffer.alloc(0)), line, found);
  if (found.length > 0) yield found;
}

/** Reads whole lines and tells how many they were. */
function readLines(bytes: Buffer, firstLine: number, found: Found[]): number {
  const text = bytes.toString();
  if (bytes.length > LONGEST || isBroken(text, bytes)) return readLinesSingly(bytes, firstLine, found);
  const lines = text.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    if (!isBlank(line)) readText(line, firstLine + i, found);
  }
  return lines.length;
}

function readLinesSingly(bytes: Buffer, firstLine: number, found: Found[]): number {
  let line = firstLine;
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
    readLine(bytes.subarray(start, end), line++, found);
    start = end + 1;
  }
  readLine(bytes.subarray(start), line++, found);
  return line - firstLine;
}

function readLine(bytes: Buffer, line: number, found: Found[]): void {
  if (bytes.length > LONGEST || !isBlank(bytes.toString())) readBytes(bytes, line, found);
}

// The first test answers for nearly every line.
function isBlank(line: string): boolean {
  return line.charCodeAt(0) !== 123 && line.trim() === '';
}
