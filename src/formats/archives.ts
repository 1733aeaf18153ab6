// Archives of dead sites: HAR files, which browsers write, and WARC files of crawlers. Their answers are found one by one, and
// what is no answer of this API is not held in memory.
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import type { RawRecord } from '../records/recognise.ts';
import { readLookup } from '../variants.ts';
import { type Capture, type Entry, FormatError, problemAt, type RecordReader } from './entry.ts';
import { JsonReader } from './json.ts';
import { isObject } from './json-text.ts';

/** Fifteen records of 64 KiB, each byte written as an escape of six. Longer ones are pictures or films, and passed over. */
const LONGEST_ANSWER = 8 * 1024 * 1024;
const LONGEST_HEADER = 64 * 1024;
const NO_BYTES = Buffer.alloc(0);

export type OnCapture = (capture: Capture) => void;

export function createHarReader(firstLine: number, onCapture: OnCapture): RecordReader {
  const json = new JsonReader(firstLine, ['entries'], { listDepth: 2, longest: LONGEST_ANSWER });

  function* readEntries(entries: Iterable<Entry>): Generator<Entry> {
    for (const entry of entries) {
      const capture = 'value' in entry ? readHarEntry(entry.value, entry.line) : undefined;
      if (capture !== undefined) onCapture(capture);
      if ('problem' in entry && !entry.problem.startsWith('longer than')) yield entry;
    }
  }

  return { read: (piece) => readEntries(json.read(piece)), end: () => readEntries(json.end()) };
}

function readHarEntry(entry: RawRecord, line: number): Capture | undefined {
  const { request, response, startedDateTime } = entry;
  if (!isObject(request) || !isObject(response) || response.status !== 200) return undefined;
  const { text = '', encoding } = isObject(response.content) ? response.content : {};
  const body = Buffer.from(String(text), encoding === 'base64' ? 'base64' : 'utf8');
  return { line, url: String(request.url), time: Date.parse(String(startedDateTime)) || 0, body };
}

type Headers = ReadonlyMap<string, string>;

interface OpenRecord {
  readonly url: string;
  readonly headers: Headers;
  /** Undefined if the block is passed over. */
  readonly parts: Buffer[] | undefined;
  /** How many bytes of it, and of the two line ends behind it, are still to come. */
  missing: number;
}

export function createWarcReader(onCapture: OnCapture): RecordReader {
  let held: Buffer = NO_BYTES;
  let record: OpenRecord | undefined;
  let number = 0;

  function beginRecord(): OpenRecord | undefined {
    const header = splitHeader(held);
    if (header === undefined && held.length <= LONGEST_HEADER) return undefined;
    number++;
    const begun = header && openRecord(header);
    if (begun === undefined) throw new FormatError(`record ${number} of the archive is malformed`);
    held = header?.rest ?? NO_BYTES;
    return begun;
  }

  return {
    read(piece) {
      held = held.length === 0 ? piece : Buffer.concat([held, piece]);
      while ((record ??= beginRecord()) !== undefined) {
        const part = held.subarray(0, record.missing);
        record.parts?.push(part);
        record.missing -= part.length;
        held = held.subarray(part.length);
        if (record.missing > 0) return [];
        const capture = readWarcRecord(record, number);
        record = undefined;
        if (capture !== undefined) onCapture(capture);
      }
      return [];
    },
    end: () =>
      record === undefined && held.length === 0
        ? []
        : [problemAt(number, `the archive is cut off in this record, ${record?.url}`)],
  };
}

interface Header {
  readonly first: string;
  readonly headers: Headers;
  /** What stands behind it. */
  readonly rest: Buffer;
}

/** Undefined if its end is still to come. */
function splitHeader(bytes: Buffer): Header | undefined {
  const end = bytes.subarray(0, LONGEST_HEADER).indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [first = '', ...lines] = bytes.toString('utf8', 0, end).split('\r\n');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]+):\s*(.*?)\s*$/.exec(line) ?? [];
    headers.set(name.toLowerCase(), value);
  }
  return { first, headers, rest: bytes.subarray(end + 4) };
}

/** Undefined if it is malformed. */
function openRecord({ first, headers }: Header): OpenRecord | undefined {
  const digits = headers.get('content-length') ?? '';
  const length = /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
  if (!first.startsWith('WARC/') || !Number.isSafeInteger(length)) return undefined;
  // Old versions of Wget write the address in angle brackets.
  const url = (headers.get('warc-target-uri') ?? '').replace(/^<(.*)>$/, '$1');
  const isResponse = headers.get('warc-type') === 'response';
  const parsed = isResponse && length <= LONGEST_ANSWER ? URL.parse(url) : null;
  const isAnswer = parsed !== null && readLookup(parsed) !== undefined;
  return { url, headers, parts: isAnswer ? [] : undefined, missing: length + 4 };
}

function readWarcRecord({ url, headers, parts }: OpenRecord, line: number): Capture | undefined {
  const time = Date.parse(headers.get('warc-date') ?? '') || 0;
  if (parts === undefined) return { line, url, time, body: NO_BYTES };
  const http = splitHeader(Buffer.concat(parts).subarray(0, -4));
  if (http === undefined || !/^HTTP\/\S+ 200\b/.test(http.first)) return undefined;
  return { line, url, time, body: decodeBody(http.rest, http.headers) };
}

type Decode = (body: Buffer, options: { maxOutputLength: number }) => Buffer;
const DECODERS: Record<string, Decode> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
  deflate: inflateSync,
};

/** Undoes transfer and content encodings. What is cut off is not valid JSON afterwards. */
function decodeBody(raw: Buffer, headers: Headers): Buffer {
  const isChunked = /\bchunked\b/i.test(headers.get('transfer-encoding') ?? '');
  const codings = (headers.get('content-encoding') ?? '').toLowerCase().split(/\s*,\s*/);
  try {
    return codings.reduceRight(
      (body, coding) => DECODERS[coding]?.(body, { maxOutputLength: LONGEST_ANSWER }) ?? body,
      isChunked ? joinChunks(raw) : raw,
    );
  } catch {
    // Some archives hold bodies without the encodings that their headers name.
    return raw;
  }
}

/** The body itself if it is not in chunks. */
function joinChunks(raw: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = raw.indexOf('\r\n', at);
    const [digits] = end === -1 ? [] : (/^[\da-f]+/i.exec(raw.toString('latin1', at, end)) ?? []);
    if (digits === undefined) return at === 0 ? raw : Buffer.concat(parts);
    const start = end + 2;
    at = start + Number.parseInt(digits, 16) + 2;
    parts.push(raw.subarray(start, at - 2));
  }
}
