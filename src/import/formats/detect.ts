// Opens a file: unpacks gzip, decodes its text, recognises the format by the first bytes, never by the name, and yields the raw
// records.

import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { errorCode } from '../../records/thrown.ts';
import { createCsvReader } from './csv.ts';
import { type Entry, FormatError, LONGEST_RECORD, NoRecordsError, type RecordReader } from './entry.ts';
import { JsonReader } from './json.ts';
import { isWholeObject, LIST_NAMES } from './json-text.ts';
import { createNdjsonReader } from './rows.ts';

interface ReadOptions {
  /** For a map: objects may have any members, and lie in lists with these names. */
  readonly lists?: readonly string[] | undefined;
  /** Of the text, if it is not UTF-8 and no byte order mark tells it. */
  readonly encoding?: string | undefined;
}

/** More at a time would pile up entries: the smallest take three bytes. */
const PIECE_BYTES = 64 * 1024;

/** Yields raw records with their lines in batches, and reads on when the next batch is asked for. */
export async function* readRecords(
  chunks: AsyncIterable<Buffer>,
  options: ReadOptions = {},
): AsyncGenerator<Entry[]> {
  const { head, from } = await peek(await openText(chunks, options.encoding), isFormatClear);
  const { skipped, line, text } = readHead(head);
  const reader = await createReader(text, line, options);
  let isEmpty = true;
  for await (const chunk of from(skipped))
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      const batch = reader.read(chunk.subarray(at, at + PIECE_BYTES));
      if (batch.length === 0) continue;
      isEmpty = false;
      yield batch;
    }
  const last = reader.end();
  if (isEmpty && last.length === 0) throw new NoRecordsError();
  yield last;
}

/** What is left out: a byte order mark, blank lines, and the assignment that files of a Twitter archive begin with. */
const PREAMBLE = /^(?:\xef\xbb\xbf)?(?:[ \t\r]*\n)*(?:\s*window\.YTD\.\w+\.part\d+ *= *)?/;

function readHead(head: Buffer) {
  const [preamble = ''] = PREAMBLE.exec(head.toString('latin1')) ?? [];
  const skipped = preamble.length;
  return { skipped, line: preamble.split('\n').length, text: head.toString('utf8', skipped).trimStart() };
}

/** Characters that hold more than a preamble. */
const LEAST_HEAD = 200;

/** Whether more bytes could not change the format, or would be too many to wait for. */
function isFormatClear(head: Buffer): boolean {
  if (head.length > LONGEST_RECORD) return true;
  const { text } = readHead(head);
  return text.length >= LEAST_HEAD && (text[0] !== '{' || /\n\s*\S/.test(text));
}

async function createReader(text: string, line: number, { lists }: ReadOptions): Promise<RecordReader> {
  const [first] = text;
  if (first === '<') {
    if (lists === undefined) throw new FormatError('XML needs a map that makes records of it: see --map');
    const { XmlReader } = await import('./xml.ts');
    return new XmlReader(line, lists);
  }
  const hasLists = lists !== undefined && lists.length > 0;
  if (first === '[' || (first === '{' && (hasLists || !hasRecordsOnLines(text))))
    return new JsonReader(line, lists);
  if (first === '{' || first === undefined) return createNdjsonReader(line);
  return createCsvReader(line, lists !== undefined);
}

/** A response body may be one long line: its records are read one by one. */
const BODY = new RegExp(`^\\{\\s*"(?:${LIST_NAMES.join('|')})"\\s*:\\s*\\[`);

/** How a line of JSON ends before the first record of a list, or between two. */
const GOES_ON = /(?:[[:]|\},)\s*$/;

/** A broken first line must not turn a file of lines into one broken JSON text. */
function hasRecordsOnLines(text: string): boolean {
  if (BODY.test(text)) return false;
  const [line = '', next = ''] = text.split(/\n\s*/, 2);
  return isWholeObject(line) || (next.startsWith('{') && !GOES_ON.test(line));
}

/** Reads until `isEnough` accepts the head, or to the end. */
async function peek(chunks: AsyncIterable<Buffer>, isEnough: (head: Buffer) => boolean) {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (!isEnough(head)) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }

  /** The whole stream, head included, without this number of bytes at its beginning. */
  async function* from(skipped: number) {
    try {
      yield head.subarray(skipped);
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  }

  return { head, from };
}

/** Byte order marks. */
const UTF16: Readonly<Record<string, string>> = { fffe: 'utf-16le', feff: 'utf-16be' };

/** Files that are recognised only to say what to do: their first bytes, and where these stand. */
const FOREIGN: readonly (readonly [bytes: string, advice: string, at?: number])[] = [
  ['PK\x03\x04', 'it is a zip archive or an Excel workbook: unpack the archive, or save the sheet as CSV'],
  ['\xd0\xcf\x11\xe0', 'it is an Excel workbook: save the sheet as CSV'],
  ['ustar', 'it is a tar archive: unpack it, and name its files, or with --map its folder', 257],
  [
    'SQLite format 3\0',
    "it is a SQLite database: write a table as JSON with sqlite3 -json FILE 'SELECT * FROM …' > table.json; a database of Vitrine is named by --database-url",
  ],
  ['BZh', 'it is compressed with bzip2: unpack it first'],
  ['\xfd7zXZ\0', 'it is compressed with xz: unpack it first'],
  ['\x28\xb5\x2f\xfd', 'it is compressed with zstd: unpack it first'],
  ['%PDF-', 'it is a PDF: the data must be NDJSON, JSON or CSV'],
];
const MARK_BYTES = 512;

/** The unpacked file as UTF-8. */
async function openText(chunks: AsyncIterable<Buffer>, encoding?: string): Promise<AsyncIterable<Buffer>> {
  const file = await peekAtMark(chunks);
  const text = file.mark === '1f8b' ? await peekAtMark(gunzip(file.from(0))) : file;
  const found = encoding ?? UTF16[text.mark];
  return found === undefined ? text.from(0) : transcode(text.from(0), found);
}

async function peekAtMark(chunks: AsyncIterable<Buffer>) {
  const { head, from } = await peek(chunks, ({ length }) => length >= MARK_BYTES);
  for (const [bytes, advice, at = 0] of FOREIGN)
    if (head.toString('latin1', at, at + bytes.length) === bytes) throw new FormatError(advice);
  return { mark: head.toString('hex', 0, 2), from };
}

const CHUNK_BYTES = 256 * 1024;

/** A sentence says if the data is corrupt or cut off. */
async function* gunzip(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const unpacked = createGunzip({ chunkSize: CHUNK_BYTES });
  // Errors reach the loop below as well, and are handled there.
  pipeline(chunks, unpacked, () => {});
  try {
    yield* unpacked;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'Z_BUF_ERROR') throw new FormatError('the gzip data ends too early: the file is cut off');
    if (code.startsWith('Z_'))
      throw new FormatError('the gzip data is corrupt: make or fetch the file again');
    throw error;
  }
}

async function* transcode(chunks: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const decode = (chunk?: Buffer) => {
    try {
      return Buffer.from(decoder.decode(chunk, { stream: chunk !== undefined }));
    } catch {
      throw new FormatError(`the text is not ${decoder.encoding}`);
    }
  };
  for await (const chunk of chunks) yield decode(chunk);
  yield decode();
}
