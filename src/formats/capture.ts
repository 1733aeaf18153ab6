// Answers that a browser or a crawler recorded, and the reader of HAR files, which browsers write.
import type { RawRecord } from '../records/recognise.ts';
import type { Entry, RecordReader } from './entry.ts';
import { createJsonReader } from './json.ts';
import { isObject } from './json-text.ts';

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

/** What the brace is that closes the head, which the reader is not given. */
const HEAD_END = 'unexpected }';

/** The reader is given what follows the head. Entries are found one by one, so that a large file takes no memory. */
export function createHarReader(firstLine: number, sink: ArchiveSink): RecordReader {
  const json = createJsonReader(firstLine, ['entries'], LONGEST_ANSWER);

  function* takeCaptures(entries: Iterable<Entry>): Generator<Entry> {
    for (const entry of entries) {
      if ('value' in entry) {
        const capture = readEntry(entry.value, entry.line);
        if (capture !== undefined) sink.add(capture);
      } else if (entry.problem.startsWith('longer than')) sink.skip(entry.line);
      else if (entry.problem !== HEAD_END) yield entry;
    }
  }

  return {
    read: (piece) => takeCaptures(json.read(piece)),
    end: () => takeCaptures(json.end()),
  };
}

function readEntry({ request, response, startedDateTime }: RawRecord, line: number): Capture | undefined {
  if (!isObject(request) || !isObject(response) || response.status !== 200) return undefined;
  const content = isObject(response.content) ? response.content : {};
  const { text, encoding, size } = content;
  const body = Buffer.from(typeof text === 'string' ? text : '', encoding === 'base64' ? 'base64' : 'utf8');
  const isWhole = typeof size !== 'number' || body.length >= size;
  const flaw =
    body.length === 0 ? 'the file does not hold it' : `it is cut off after ${body.length} of ${size} bytes`;
  return {
    line,
    url: String(request.url),
    time: Date.parse(String(startedDateTime)) || 0,
    body,
    flaw: isWhole && body.length > 0 ? undefined : flaw,
  };
}
