// JSON of any size: cuts the records out of arrays and response bodies byte by byte; JSON.parse reads them.
import { createCarry, type Found, glimpse, LONGEST, problemAt, tooLong } from './found.ts';
import { COLLECTIONS, readBytes } from './json-text.ts';

const [NEWLINE, QUOTE, COMMA, BACKSLASH] = [10, 34, 44, 92];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

const JUNK_ENDS = [NEWLINE, COMMA, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT];

const OPENS_BODY = new RegExp(`^\\{\\s*"(?:${COLLECTIONS.join('|')})"\\s*:\\s*\\[$`);

export async function* readJson(chunks: AsyncIterable<Buffer>, firstLine: number): AsyncGenerator<Found[]> {
  const scanner = createScanner(firstLine);
  for await (const chunk of chunks) {
    const found = scanner.scan(chunk);
    if (found.length > 0) yield found;
  }
  const found = scanner.end();
  if (found.length > 0) yield found;
}

function createScanner(firstLine: number) {
  /** Arrays and bodies that are open around the place, by the byte that will close them. */
  const around: { closer: number; line: number }[] = [];
  const carry = createCarry();
  let found: Found[] = [];
  let line = firstLine;
  let wantsComma = false;

  // About the value that is being passed over.
  let begun = 0;
  let depth = 0;
  let quoted = false;
  let escaped = false;
  let mayBeBody = false;

  /** What to do with the bytes to come; each step gives the place where the next one starts. */
  let step: (chunk: Buffer, from: number) => number = between;

  function scan(chunk: Buffer): Found[] {
    found = [];
    for (let at = 0; at < chunk.length; ) at = step(chunk, at);
    return found;
  }

  function end(): Found[] {
    found = [];
    const rest = carry.take(Buffer.alloc(0));
    const open = around.at(-1);
    if (step === insideValue) unfinished('record', begun, rest);
    else if (step === insideJunk) junk(rest);
    if (step !== insideValue && open) unfinished(open.closer === CLOSE_ARRAY ? 'array' : 'object', open.line);
    return found;
  }

  function between(chunk: Buffer, at: number): number {
    const byte = chunk[at] as number;
    if (byte === NEWLINE) line++;
    if (byte === NEWLINE || byte === 32 || byte === 13 || byte === 9) return at + 1;
    if (byte === COMMA) return comma(at);
    if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) return close(byte, at);
    if (byte === OPEN_ARRAY && around.length === 0) return open(CLOSE_ARRAY, line, at);
    begun = line;
    if (byte !== OPEN_OBJECT && byte !== OPEN_ARRAY) {
      step = insideJunk;
      return at;
    }
    if (wantsComma && around.length > 0) found.push(problemAt(line, 'a comma is missing before this record'));
    mayBeBody = byte === OPEN_OBJECT && !around.some(({ closer }) => closer === CLOSE_OBJECT);
    step = insideValue;
    return at;
  }

  function comma(at: number): number {
    if (!wantsComma) found.push(problemAt(line, 'a comma with no record before it'));
    wantsComma = false;
    return at + 1;
  }

  function open(closer: number, since: number, at: number): number {
    around.push({ closer, line: since });
    wantsComma = false;
    step = between;
    return at + 1;
  }

  function close(byte: number, at: number): number {
    if (around.at(-1)?.closer === byte) around.pop();
    else found.push(problemAt(line, `unexpected ${String.fromCharCode(byte)}`));
    wantsComma = true;
    return at + 1;
  }

  // The hot loop, with the one below: every byte of every record passes here once.
  function insideValue(chunk: Buffer, since: number): number {
    let from = since;
    for (let at = quoted ? passString(chunk, since) : since; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte === QUOTE) at = passString(chunk, at + 1) - 1;
      else if (byte === NEWLINE) line++;
      else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
        if (--depth === 0) return endValue(carry.take(chunk.subarray(from, at + 1)), at);
      } else if ((byte === OPEN_ARRAY || byte === OPEN_OBJECT) && ++depth === 2 && mayBeBody) {
        const head = carry.take(chunk.subarray(from, at + 1));
        if (OPENS_BODY.test(head.toString('latin1', 0, LONGEST))) return openBody(at);
        mayBeBody = false;
        carry.add(head);
        from = at + 1;
      }
    }
    carry.add(chunk.subarray(from));
    return chunk.length;
  }

  /** The place after the string that is open at `from`, or the chunk's end; the string may go on in the next. */
  function passString(chunk: Buffer, from: number): number {
    let at = escaped && chunk[from] !== NEWLINE ? from + 1 : from;
    escaped = false;
    quoted = true;
    for (; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte === QUOTE) {
        quoted = false;
        return at + 1;
      }
      if (byte === NEWLINE) line++;
      else if (byte === BACKSLASH) {
        escaped = at + 1 === chunk.length;
        if (!escaped && chunk[at + 1] !== NEWLINE) at++;
      }
    }
    return at;
  }

  function openBody(at: number): number {
    depth = 0;
    around.push({ closer: CLOSE_OBJECT, line: begun });
    return open(CLOSE_ARRAY, line, at);
  }

  function endValue(bytes: Buffer, at: number): number {
    readBytes(bytes, begun, found);
    wantsComma = true;
    step = between;
    return at + 1;
  }

  // What is no record ends where one could begin, and always with its line, lest one quote swallow the rest.
  function insideJunk(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (byte === QUOTE) quoted = !quoted;
      if (byte !== NEWLINE && (quoted || !JUNK_ENDS.includes(byte))) continue;
      junk(carry.take(chunk.subarray(from, at)));
      quoted = false;
      wantsComma = true;
      step = between;
      return at;
    }
    carry.add(chunk.subarray(from));
    return chunk.length;
  }

  function junk(bytes: Buffer) {
    const text = bytes.toString();
    if (bytes.length > LONGEST) found.push(tooLong(begun, bytes));
    else found.push(problemAt(begun, `expected a record, a JSON object, but got ${glimpse(text)}`, text));
  }

  function unfinished(what: string, since: number, bytes?: Buffer) {
    const text = bytes?.toString('utf8', 0, LONGEST);
    found.push(problemAt(since, `this ${what} is not closed: the file ends at line ${line}`, text));
  }

  return { scan, end };
}
