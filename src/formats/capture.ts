// Answers that a browser or a crawler recorded: their bodies, unpacked, or what is wrong with them.
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib';

/** What archives begin with. */
export const HAR_HEAD = /^\{\s*"log"\s*:\s*(?=\{)/;
export const WARC_HEAD = /^WARC\/\d/;

/** A recorded answer with status 200. */
export interface Capture {
  /** Its line in a HAR file, its number among the records of a WARC file. */
  readonly line: number;
  readonly url: string;
  /** In milliseconds since 1970. */
  readonly time: number;
  /** Undefined if only the digest of an earlier capture's body was recorded. */
  readonly body: Buffer | undefined;
  /** Of the body, as the file says it. */
  readonly digest?: string | undefined;
  /** Why the body is probably not whole. */
  readonly flaw?: string | undefined;
}

/** Takes what archives hold. */
export interface ArchiveSink {
  /** An archive begins. */
  open(): void;
  add(capture: Capture): void;
  /** An entry is too long to be read: probably a picture or a film. */
  skip(line: number): void;
}

/** Fifteen records of 64 KiB, each byte written as an escape of six. */
export const LONGEST_ANSWER = 8 * 1024 * 1024;

interface DecodedBody {
  readonly body: Buffer;
  readonly flaw?: string;
}

/** Undoes transfer and content encodings. Some archives hold bodies without the encodings that their headers name. */
export function decodeBody(raw: Buffer, headers: ReadonlyMap<string, string>): DecodedBody {
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
