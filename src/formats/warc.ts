// WARC: what a crawler recorded. A record is held in memory only if it may be an answer of this API.
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { readLookup } from '../variants.ts';
import { type ArchiveSink, LONGEST_ANSWER, WARC_HEAD } from './capture.ts';
import { type Entry, FormatError, problemAt, type RecordReader } from './entry.ts';

const LONGEST_HEADER = 64 * 1024;
const NO_BYTES = Buffer.alloc(0);

type Headers = ReadonlyMap<string, string>;

interface WarcRecord {
  readonly number: number;
  readonly headers: Headers;
  /** Undefined if the block is passed over. */
  readonly parts: Buffer[] | undefined;
  /** How many bytes of the block are still to come. */
  missing: number;
}

export function createWarcReader(sink: ArchiveSink): RecordReader {
  let held: Buffer = NO_BYTES;
  let record: WarcRecord | undefined;
  let number = 0;

  function endRecord({ number, headers, parts }: WarcRecord): void {
    if (parts !== undefined) readBlock(number, headers, Buffer.concat(parts), sink);
    record = undefined;
  }

  /** Reads as far as the bytes go. */
  function advance(): boolean {
    if (record !== undefined) {
      const part = held.subarray(0, record.missing);
      record.parts?.push(part);
      record.missing -= part.length;
      held = held.subarray(part.length);
      if (record.missing > 0) return false;
      endRecord(record);
      return true;
    }
    const start = held.findIndex((byte) => byte !== 13 && byte !== 10);
    held = start === -1 ? NO_BYTES : held.subarray(start);
    const header = splitHeader(held);
    if (header === undefined) {
      if (held.length > LONGEST_HEADER)
        throw new FormatError(`record ${number + 1} of the archive is malformed`);
      return false;
    }
    number++;
    held = header.rest;
    record = beginRecord(number, header, sink);
    return true;
  }

  return {
    read(piece) {
      held = held.length === 0 ? piece : Buffer.concat([held, piece]);
      while (held.length > 0 && advance());
      return [];
    },
    end(): Entry[] {
      if (record !== undefined && record.missing === 0) endRecord(record);
      if (record === undefined && held.length === 0) return [];
      const url = record === undefined ? undefined : readTarget(record.headers);
      return [
        problemAt(number, `the archive is cut off in this record${url === undefined ? '' : `, ${url}`}`),
      ];
    },
  };
}

interface Header {
  readonly first: string;
  readonly headers: Headers;
  /** What stands behind it. */
  readonly rest: Buffer;
}

function beginRecord(number: number, { first, headers }: Header, sink: ArchiveSink): WarcRecord {
  const digits = headers.get('content-length') ?? '';
  const length = /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
  if (!WARC_HEAD.test(first) || !Number.isSafeInteger(length))
    throw new FormatError(`record ${number} of the archive is malformed`);
  const isAnswer = mayBeAnswer(headers);
  const isTooLong = length > LONGEST_ANSWER;
  if (isAnswer && isTooLong) sink.skip(number);
  return { number, headers, parts: isAnswer && !isTooLong ? [] : undefined, missing: length };
}

function splitHeader(bytes: Buffer): Header | undefined {
  const end = findBlankLine(bytes);
  if (end === undefined) return undefined;
  const [first = '', ...lines] = bytes.toString('utf8', 0, end).trimEnd().split(/\r?\n/);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]+):\s*(.*?)\s*$/.exec(line) ?? [];
    headers.set(name.toLowerCase(), value);
  }
  return { first, headers, rest: bytes.subarray(end) };
}

/** The place behind it. Looks no further, since records may be tiny. */
function findBlankLine(bytes: Buffer): number | undefined {
  for (let at = bytes.indexOf(10); at !== -1 && at < LONGEST_HEADER; at = bytes.indexOf(10, at + 1)) {
    const next = bytes[at + 1] === 13 ? at + 2 : at + 1;
    if (bytes[next] === 10) return next + 1;
  }
  return undefined;
}

/** Old versions of Wget write the address in angle brackets. */
const readTarget = (headers: Headers) => headers.get('warc-target-uri')?.replace(/^<(.*)>$/, '$1');

function mayBeAnswer(headers: Headers): boolean {
  if (!/^(response|revisit)$/.test(headers.get('warc-type') ?? '')) return false;
  const url = URL.parse(readTarget(headers) ?? '');
  return url !== null && readLookup(url) !== undefined;
}

function readBlock(number: number, headers: Headers, block: Buffer, sink: ArchiveSink): void {
  const http = splitHeader(block);
  const status = /^HTTP\/\S+ (\d+)/.exec(http?.first ?? '')?.[1];
  const isRevisit = headers.get('warc-type') === 'revisit';
  if (status !== '200' && !(isRevisit && (status === undefined || status === '304'))) return;
  const decoded = isRevisit || http === undefined ? undefined : decodeBody(http.rest, http.headers);
  const truncated = headers.get('warc-truncated');
  sink.add({
    line: number,
    url: readTarget(headers) as string,
    time: Date.parse(headers.get('warc-date') ?? '') || 0,
    body: decoded?.body,
    digest: headers.get('warc-payload-digest'),
    flaw:
      decoded?.flaw ?? (truncated === undefined ? undefined : `it is cut off (WARC-Truncated: ${truncated})`),
  });
}

interface DecodedBody {
  readonly body: Buffer;
  readonly flaw?: string;
}

/** Undoes transfer and content encodings. Some archives hold bodies without the encodings that their headers name. */
function decodeBody(raw: Buffer, headers: ReadonlyMap<string, string>): DecodedBody {
  let body = raw;
  let flaw: string | undefined;
  if (/\bchunked\b/i.test(headers.get('transfer-encoding') ?? '')) {
    const joined = joinChunks(raw);
    if (joined !== undefined) ({ body, flaw } = joined);
  } else if (raw.length < Number(headers.get('content-length') ?? 0)) flaw = cutOff(raw, headers);
  for (const coding of (headers.get('content-encoding') ?? '')
    .toLowerCase()
    .split(/\s*,\s*/)
    .reverse()) {
    const decode = DECODERS[coding];
    if (decode === undefined) continue;
    try {
      body = decode(body, { maxOutputLength: LONGEST_ANSWER });
    } catch {
      if (looksLikeJson(body)) break;
      return { body, flaw: flaw ?? `its ${coding} data is cut off or corrupt` };
    }
  }
  return flaw === undefined ? { body } : { body, flaw };
}

const cutOff = (raw: Buffer, headers: ReadonlyMap<string, string>) =>
  `it is cut off after ${raw.length} of ${headers.get('content-length')} bytes`;

type Decode = (body: Buffer, options: { maxOutputLength: number }) => Buffer;
const DECODERS: Record<string, Decode> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
  // Some servers leave out the header of zlib.
  deflate: (body, options) => ((body[0] as number) % 16 === 8 ? inflateSync : inflateRawSync)(body, options),
};

const looksLikeJson = (body: Buffer) => /^(\ufeff)?\s*[{[]/.test(body.toString('utf8', 0, 100));

/** Undefined if the body is not in chunks. */
function joinChunks(raw: Buffer): DecodedBody | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = raw.indexOf('\n', at);
    const size = /^([\da-f]+)\s*(;.*)?\r?$/i.exec(raw.toString('latin1', at, end === -1 ? at : end))?.[1];
    if (size === undefined) {
      if (at === 0) return undefined;
      const body = Buffer.concat(parts);
      return { body, flaw: `it is cut off after ${body.length} bytes` };
    }
    const length = Number.parseInt(size, 16);
    if (length === 0) return { body: Buffer.concat(parts) };
    parts.push(raw.subarray(end + 1, end + 1 + length));
    at = end + 1 + length;
    if (raw[at] === 13) at++;
    at++;
  }
}
