// Bytes -> raw records with their lines. What a file is, its first bytes tell, never its name.
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { readCsv } from './csv.ts';
import { type Found, LONGEST } from './found.ts';
import { readJson } from './json-scanner.ts';
import { endOfString, isWholeObject } from './json-text.ts';
import { readNdjson } from './ndjson.ts';

export type { Found } from './found.ts';

/** The file as a whole cannot be read: a sentence for the operator. */
export class FormatError extends Error {
  override name = 'FormatError';
}

/** Bytes -> raw records with line numbers, in batches; memory stays flat. */
export async function* readRecords(chunks: AsyncIterable<Buffer>): AsyncGenerator<Found[]> {
  const file = await peek(chunks, (head) => head.length >= 2);
  const content = isGzip(file.head) ? gunzip(file.from(0)) : file.from(0);
  const { head, from, close } = await peek(content, tellsFormat);
  if (isUtf16(head)) {
    await close();
    throw new FormatError('the text is UTF-16: save it as UTF-8 and import that');
  }
  const { skipped, line } = preamble(head);
  yield* readerFor(head)(from(skipped), line);
}

function readerFor(head: Buffer) {
  const first = head[preamble(head).first];
  if (first === OPEN_ARRAY) return readJson;
  if (first === OPEN_OBJECT) return hasRecordsOnLines(head) ? readNdjson : readJson;
  return first === undefined ? readNdjson : readCsv;
}

const [NEWLINE, OPEN_ARRAY, OPEN_OBJECT] = [10, 91, 123];
const BLANKS = [9, NEWLINE, 13, 32];

/** Whether more bytes could not change the answer, or would be too many to wait for. */
function tellsFormat(head: Buffer): boolean {
  if (head.length > 2 * LONGEST) return true;
  const { first } = preamble(head);
  if (head.length < 3 || first === head.length) return false;
  return head[first] !== OPEN_OBJECT || firstLines(head).next !== undefined;
}

/** Where the content begins, and how much before it, a byte order mark and blank lines, may be left out. */
function preamble(head: Buffer): { first: number; skipped: number; line: number } {
  let skipped = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0;
  let line = 1;
  let first = skipped;
  for (; BLANKS.includes(head[first] ?? 0); first++) {
    if (head[first] !== NEWLINE) continue;
    line++;
    skipped = first + 1;
  }
  return { first, skipped, line };
}

/** The first line, and the character with which the next one begins. */
function firstLines(head: Buffer): { line: string; next: string | undefined } {
  const { first } = preamble(head);
  const end = head.indexOf(NEWLINE, first);
  if (end === -1) return { line: head.toString('utf8', first), next: undefined };
  let after = end;
  while (BLANKS.includes(head[after] ?? 0)) after++;
  const next = after < head.length ? String.fromCharCode(head[after] as number) : undefined;
  return { line: head.toString('utf8', first, end), next };
}

// A broken first line must not turn a file of lines into one broken JSON text.
function hasRecordsOnLines(head: Buffer): boolean {
  const { line, next } = firstLines(head);
  return isWholeObject(line) || (next === '{' && breaksOff(line));
}

/** Whether a line ends inside a string or an object, where no record could follow; arrays are another matter. */
function breaksOff(line: string): boolean {
  let objects = 0;
  let arrays = 0;
  for (let at = 0; at < line.length; at++) {
    if (line[at] === '"') at = endOfString(line, at);
    if (at === line.length) return arrays === 0;
    if (line[at] === '{') objects++;
    if (line[at] === '}') objects--;
    if (line[at] === '[') arrays++;
    if (line[at] === ']') arrays--;
  }
  return objects !== 0 && arrays === 0;
}

/** Reads until there is enough; `from` gives the stream again, without so many of its first bytes. */
async function peek(chunks: AsyncIterable<Buffer>, enough: (head: Buffer) => boolean) {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (!enough(head)) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }

  async function close() {
    await iterator.return?.();
  }

  async function* from(skipped: number): AsyncGenerator<Buffer> {
    try {
      yield head.subarray(skipped);
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await close();
    }
  }

  return { head, from, close };
}

function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b;
}

async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const unpacked = createGunzip({ chunkSize: 256 * 1024 });
  // Its errors arrive below as well, where they are told.
  pipeline(chunks, unpacked, () => {});
  try {
    yield* unpacked;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'Z_BUF_ERROR') throw new FormatError('the gzip data ends too early: the file is cut off');
    if (code?.startsWith('Z_'))
      throw new FormatError('the gzip data is corrupt: make or fetch the file again');
    throw error;
  }
}

function isUtf16(head: Buffer): boolean {
  return (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
}
