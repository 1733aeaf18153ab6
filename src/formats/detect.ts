// Opens a file: unpacks gzip, decodes its text, recognises the format by the first bytes, never by the name, and yields the raw
// records.
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { COLLECTIONS } from '../variants.ts';
import { createHarReader, createWarcReader, type OnCapture } from './archives.ts';
import { createCsvReader } from './csv.ts';
import { type Entry, FormatError, LONGEST_RECORD, NoContentError, type RecordReader } from './entry.ts';
import { JsonReader } from './json.ts';
import { isWholeObject } from './json-text.ts';
import { createNdjsonReader } from './rows.ts';

interface ReadOptions {
  /** For a map: objects may have any members, and lie in lists with these names. */
  readonly lists?: readonly string[] | undefined;
  /** Of the text, if it is not UTF-8 and no byte order mark tells it. */
  readonly encoding?: string | undefined;
  /** Without it, archives are read as other files are. */
  readonly onCapture?: OnCapture | undefined;
}

/** Yields raw records with their lines in small batches, and reads on when the next batch is asked for. */
export async function* readRecords(
  chunks: AsyncIterable<Buffer>,
  options: ReadOptions = {},
): AsyncGenerator<Entry[]> {
  const { head, from } = await peek(await openText(chunks, options.encoding), isFormatClear);
  const { skipped, line, text } = readHead(head);
  const reader = await createReader(text, line, options);
  let isEmpty = text === '';
  for await (const batch of inBatches(from(skipped), reader)) {
    isEmpty = false;
    yield batch;
  }
  if (isEmpty) throw new NoContentError();
}

/** What is left out: a byte order mark, blank lines, and the assignment that files of a Twitter archive begin with. */
const PREAMBLE = /^(?:\xef\xbb\xbf)?(?:[ \t\r]*\n)*(?:\s*window\.YTD\.\w+\.part\d+ *= *)?/;

function readHead(head: Buffer) {
  const [preamble = ''] = PREAMBLE.exec(head.toString('latin1')) ?? [];
  const skipped = preamble.length;
  return { skipped, line: preamble.split('\n').length, text: head.toString('utf8', skipped).trimStart() };
}

/** Enough to know an archive. */
const LEAST_HEAD = 200;

/** Whether more bytes could not change the format, or would be too many to wait for. */
function isFormatClear(head: Buffer): boolean {
  if (head.length > LONGEST_RECORD) return true;
  const { text } = readHead(head);
  return text.length >= LEAST_HEAD && (text[0] !== '{' || /\n\s*\S/.test(text));
}

async function createReader(
  text: string,
  line: number,
  { lists, onCapture }: ReadOptions,
): Promise<RecordReader> {
  if (onCapture && /^WARC\/\d/.test(text)) return createWarcReader(onCapture);
  if (onCapture && /^\{\s*"log"\s*:\s*\{/.test(text)) return createHarReader(line, onCapture);
  const [first] = text;
  if (first === '<') {
    if (lists === undefined) throw new FormatError('XML needs a map that makes records of it: see --map');
    const { createXmlReader } = await import('./xml.ts');
    return createXmlReader(line, lists);
  }
  const hasLists = lists !== undefined && lists.length > 0;
  if (first === '[' || (first === '{' && (hasLists || !hasRecordsOnLines(text))))
    return new JsonReader(line, lists);
  if (first === '{' || first === undefined) return createNdjsonReader(line);
  return createCsvReader(line, lists !== undefined);
}

/** A response body may be one long line: its records are read one by one. */
const BODY = new RegExp(`^\\{\\s*"(?:${COLLECTIONS.join('|')})"\\s*:\\s*\\[`);

/** How a line of JSON ends before the first record of a list, or between two. */
const GOES_ON = /(?:[[:]|\},)\s*$/;

/** A broken first line must not turn a file of lines into one broken JSON text. */
function hasRecordsOnLines(text: string): boolean {
  if (BODY.test(text)) return false;
  const [line = '', next = ''] = text.split(/\n\s*/, 2);
  return isWholeObject(line) || (next.startsWith('{') && !GOES_ON.test(line));
}

const BATCH_ENTRIES = 1000;

/** Hands entries on in small batches: neither a large file nor a flood of tiny records piles up in memory. */
async function* inBatches(chunks: AsyncIterable<Buffer>, reader: RecordReader): AsyncGenerator<Entry[]> {
  for await (const chunk of chunks) yield* cutBatches(reader.read(chunk));
  yield* cutBatches(reader.end());
}

function* cutBatches(entries: Iterable<Entry>): Generator<Entry[]> {
  let batch: Entry[] = [];
  for (const entry of entries) {
    batch.push(entry);
    if (batch.length < BATCH_ENTRIES) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
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

  /** The whole stream, head included, without so many bytes at its beginning. */
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

const GZIP = '1f8b';
/** Byte order marks. */
const UTF16 = { fffe: 'utf-16le', feff: 'utf-16be' };

/** The unpacked file as UTF-8. */
async function openText(chunks: AsyncIterable<Buffer>, encoding?: string): Promise<AsyncIterable<Buffer>> {
  const file = await peekAtMark(chunks);
  const text = file.mark === GZIP ? await peekAtMark(gunzip(file.from(0))) : file;
  const found = encoding ?? UTF16[text.mark as keyof typeof UTF16];
  return found === undefined ? text.from(0) : transcode(text.from(0), found);
}

async function peekAtMark(chunks: AsyncIterable<Buffer>) {
  const { head, from } = await peek(chunks, ({ length }) => length >= 2);
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
    const { code = '' } = error as NodeJS.ErrnoException;
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
