// HAR: what a browser recorded. Its entries are found one by one, so that a large file takes no memory.
import type { RawRecord } from '../records/recognise.ts';
import { type ArchiveSink, type Capture, LONGEST_ANSWER } from './capture.ts';
import type { Entry, RecordReader } from './entry.ts';
import { createJsonReader } from './json.ts';
import { isObject } from './json-text.ts';

/** What the brace is that closes the head, which the reader is not given. */
const HEAD_END = 'unexpected }';

/** The reader is given what follows the head. */
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
