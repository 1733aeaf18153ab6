// Recognises the format of a file by its first bytes, never by its name, and yields its raw records.
import { constants, gunzipSync } from 'node:zlib';
import { gunzip, isGzip, peek, transcode } from './bytes.ts';
import { type ArchiveSink, createHarReader, HAR_HEAD, WARC_HEAD } from './capture.ts';
import { createCsvReader } from './csv.ts';
import { type Entry, FormatError, LONGEST_RECORD, NoContentError, type RecordReader } from './entry.ts';
import { createJsonReader } from './json.ts';
import { isWholeObject } from './json-text.ts';
import { createNdjsonReader } from './ndjson.ts';

const [TAB, NEWLINE, RETURN, SPACE, OPEN_TAG, OPEN_ARRAY, OPEN_OBJECT] = [9, 10, 13, 32, 60, 91, 123];
const BLANKS = [TAB, NEWLINE, RETURN, SPACE];
const LONGEST_HEAD = 2 * LONGEST_RECORD;

interface ReadOptions {
  /** For a map: objects may have any members, and lie in lists with these names. */
  readonly lists?: readonly string[] | undefined;
  /** Of the text, if it is not UTF-8 and no byte order mark tells it. */
  readonly encoding?: string | undefined;
  /** Takes the answers that an archive holds. */
  readonly archives?: ArchiveSink | undefined;
}

/** Yields raw records with their lines in small batches, and reads on when the next batch is asked for. */
export async function* readRecords(
  chunks: AsyncIterable<Buffer>,
  options: ReadOptions = {},
): AsyncGenerator<Entry[]> {
  const content = await peek(await openText(chunks, options.encoding), isFormatClear);
  const { head } = content;
  const { first, skipped, line } = readPreamble(head);
  let isEmpty = true;
  const archive = options.archives && (await openArchive(head, options.archives));
  const { reader, from } = archive ?? { reader: await readerFor(head, line, options), from: skipped };
  for await (const batch of inBatches(content.from(from), reader)) {
    isEmpty = false;
    yield batch;
  }
  if (isEmpty && first === head.length) throw new NoContentError();
}

/** The unpacked file as UTF-8. A byte order mark tells UTF-16. */
async function openText(chunks: AsyncIterable<Buffer>, encoding?: string): Promise<AsyncIterable<Buffer>> {
  const file = await peek(chunks, (head) => head.length >= (isGzip(head) ? LEAST_GZIP_HEAD : 2));
  const unpacked = isGzip(file.head) ? gunzip(file.from(0), isGzippedWarc(file.head)) : file.from(0);
  const text = await peek(unpacked, (head) => head.length >= 2);
  const found = encoding ?? findUtf16(text.head);
  return found === undefined ? text.from(0) : transcode(text.from(0), found);
}

/** Enough to unpack the first characters. */
const LEAST_GZIP_HEAD = 1024;

/** A crawler that was stopped leaves a file that is cut off. */
function isGzippedWarc(head: Buffer): boolean {
  try {
    return WARC_HEAD.test(
      gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1', 0, 10),
    );
  } catch {
    return false;
  }
}

/** The reader of an archive, and where its first record begins; undefined if the file is none. */
async function openArchive(head: Buffer, sink: ArchiveSink) {
  const { first, line } = readPreamble(head);
  const beginning = head.toString('latin1', first, first + LONGEST_BEGINNING);
  if (WARC_HEAD.test(beginning)) {
    sink.open();
    const { createWarcReader } = await import('./warc.ts');
    return { reader: createWarcReader(sink), from: first };
  }
  const [log] = HAR_HEAD.exec(beginning) ?? [];
  if (log === undefined) return undefined;
  sink.open();
  return { reader: createHarReader(line + log.split('\n').length - 1, sink), from: first + log.length };
}

async function readerFor(head: Buffer, line: number, { lists }: ReadOptions): Promise<RecordReader> {
  const first = head[readPreamble(head).first];
  if (first === OPEN_TAG) {
    if (lists === undefined) throw new FormatError('XML needs a map that makes records of it: see --map');
    const { createXmlReader } = await import('./xml.ts');
    return createXmlReader(line, lists);
  }
  const hasLists = lists !== undefined && lists.length > 0;
  if (first === OPEN_ARRAY || (first === OPEN_OBJECT && (hasLists || !hasRecordsOnLines(head))))
    return createJsonReader(line, lists);
  return first === undefined || first === OPEN_OBJECT
    ? createNdjsonReader(line)
    : createCsvReader(line, lists !== undefined);
}

/** Enough to know an archive. */
const LEAST_HEAD = 16;

/** Whether more bytes could not change the format, or would be too many to wait for. */
function isFormatClear(head: Buffer): boolean {
  if (head.length > LONGEST_HEAD) return true;
  const { first } = readPreamble(head);
  if (head.length < LEAST_HEAD || first === head.length || beginsAssignment(head, first)) return false;
  return head[first] !== OPEN_OBJECT || firstLines(head).next !== undefined;
}

/** What a file of a Twitter archive begins with. */
const ASSIGNMENT = /^window\.YTD\.\w+\.part\d+ *= *(?=[[{])/;
const LONGEST_BEGINNING = 200;

/** Whether it is the first part of one. */
function beginsAssignment(head: Buffer, first: number): boolean {
  const text = head.toString('latin1', first, first + LONGEST_BEGINNING);
  if (text.length === LONGEST_BEGINNING) return false;
  return text.startsWith('window.YTD.') ? !/[[{\n]/.test(text) : 'window.YTD.'.startsWith(text);
}

/**
 * The place of the first character that is not blank; a byte order mark, blank lines and an assignment, which are left out;
 * and the number of the first line that is not.
 */
function readPreamble(head: Buffer) {
  let skipped = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0;
  let line = 1;
  let first = skipped;
  for (; BLANKS.includes(head[first] ?? 0); first++) {
    if (head[first] !== NEWLINE) continue;
    line++;
    skipped = first + 1;
  }
  const [assignment] = ASSIGNMENT.exec(head.toString('latin1', first, first + LONGEST_BEGINNING)) ?? [];
  if (assignment === undefined) return { first, skipped, line };
  return { first: first + assignment.length, skipped: first + assignment.length, line };
}

/** The first line, and the character with which the next one begins. */
function firstLines(head: Buffer): { readonly line: string; readonly next: string | undefined } {
  const { first } = readPreamble(head);
  const end = head.indexOf(NEWLINE, first);
  if (end === -1) return { line: head.toString('utf8', first), next: undefined };
  let after = end;
  while (BLANKS.includes(head[after] ?? 0)) after++;
  const next = after < head.length ? String.fromCharCode(head[after] as number) : undefined;
  return { line: head.toString('utf8', first, end), next };
}

/** How a line of JSON ends before the first record of a list, or between two. */
const GOES_ON = /(\[|\},|:)\s*$/;

// A broken first line must not turn a file of lines into one broken JSON text.
function hasRecordsOnLines(head: Buffer): boolean {
  const { line, next } = firstLines(head);
  return isWholeObject(line) || (next === '{' && !GOES_ON.test(line));
}

function findUtf16(head: Buffer): string | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  return head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : undefined;
}

const PIECE_BYTES = 64 * 1024;
const BATCH_ENTRIES = 1000;

/** Hands entries on in small batches: neither a large file nor a flood of tiny records piles up in memory. */
async function* inBatches(chunks: AsyncIterable<Buffer>, reader: RecordReader): AsyncGenerator<Entry[]> {
  for await (const chunk of chunks)
    for (let at = 0; at < chunk.length; at += PIECE_BYTES)
      yield* cutBatches(reader.read(chunk.subarray(at, at + PIECE_BYTES)));
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
