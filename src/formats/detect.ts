// Recognises the format of a file by its first bytes, never by its name, and yields its raw records.
import { COLLECTIONS } from '../variants.ts';
import { createHarReader, createWarcReader, type OnCapture } from './archives.ts';
import { openText, peek } from './bytes.ts';
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
  return text.length >= LEAST_HEAD && (text[0] !== '{' || text.includes('\n'));
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
  if (first === '[' || (first === '{' && (hasLists || !isRecordOnLine(text))))
    return new JsonReader(line, lists);
  if (first === '{' || first === undefined) return createNdjsonReader(line);
  return createCsvReader(line, lists !== undefined);
}

/** A response body may be one long line: its records are read one by one. */
const BODY = new RegExp(`^\\{\\s*"(?:${COLLECTIONS.join('|')})"\\s*:\\s*\\[`);

const isRecordOnLine = (text: string) => !BODY.test(text) && isWholeObject(text.split('\n', 1).join());

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
