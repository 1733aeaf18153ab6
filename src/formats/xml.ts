// XML: the elements with given names become objects, one at a time, for a map to make records of.
import { Parser } from 'htmlparser2';
import { type Entry, FormatError, LONGEST_RECORD, problemAt, type RecordReader } from './entry.ts';

const NEWLINE = 10;
const DEEPEST = 1000;
const LONGEST_SECTION = 16 * LONGEST_RECORD;

/** The text of an element that has nothing else; otherwise its children by name, `@name` for each attribute, and `#text`. */
type Content = string | Members;
interface Members {
  [name: string]: Content | Content[];
}

interface OpenElement {
  readonly name: string;
  readonly line: number;
  /** The index of its tag. */
  readonly start: number;
  text: string;
  /** Undefined while there are neither children nor attributes. */
  members: Members | undefined;
}

/** `lists` names the elements that become objects. */
export function createXmlReader(firstLine: number, lists: readonly string[]): RecordReader {
  if (lists.length === 0)
    throw new FormatError(
      "this is XML: the map must name the elements that it is given, as in export const lists = ['item']",
    );
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const elements = createElements(lists);
  const lines = createLineCount(firstLine);
  let read = 0;
  const parser = new Parser(
    {
      onprocessinginstruction: (name, text) => refuseEncoding(name, text),
      onopentag: (name, attributes) =>
        elements.open(name, attributes, lines.at(parser.startIndex), parser.startIndex),
      ontext: (text) => elements.text(text),
      // <br/> is closed by its own tag.
      onclosetag: (_, isImplied) => elements.close(isImplied ? parser.startIndex : undefined),
    },
    { xmlMode: true },
  );

  function decode(piece?: Buffer): string {
    try {
      return decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      throw new FormatError(`not valid UTF-8 from line ${lines.last()} on: save the file as UTF-8`);
    }
  }

  return {
    read(piece) {
      const text = decode(piece);
      lines.add(text);
      parser.write(text);
      read += text.length;
      // The parser holds back a comment or a CDATA section until it ends.
      if (read - parser.endIndex > LONGEST_SECTION)
        throw new FormatError('a text in it is longer than 16 MiB');
      return elements.take();
    },
    end() {
      parser.end(decode());
      elements.refuseUnclosed();
      return elements.take();
    },
  };
}

function refuseEncoding(name: string, text: string): void {
  const [, encoding = 'utf-8'] = /encoding\s*=\s*["']([^"']+)/.exec(text) ?? [];
  if (name === '?xml' && !/^(utf-8|us-ascii)$/i.test(encoding))
    throw new FormatError(`the text is ${encoding}: save it as UTF-8 and import that`);
}

/** The line of a character, which lies in the text that was added last, or just before it. */
function createLineCount(firstLine: number) {
  let line = firstLine;
  let text = '';
  let start = 0;
  let counted = 0;

  function at(index: number): number {
    for (const end = Math.min(index - start, text.length); counted < end; counted++)
      if (text.charCodeAt(counted) === NEWLINE) line++;
    return line;
  }

  return {
    at,
    last: () => at(Number.POSITIVE_INFINITY),
    add(next: string): void {
      at(Number.POSITIVE_INFINITY);
      start += text.length;
      text = next;
      counted = 0;
    },
  };
}

function createElements(lists: readonly string[]) {
  /** Open elements, the outermost first; those around a listed one collect no content. */
  const open: OpenElement[] = [];
  let listed: OpenElement | undefined;
  let length = 0;
  let found: Entry[] = [];
  let unclosed: string | undefined;

  return {
    open(name: string, attributes: Record<string, string>, line: number, start: number): void {
      if (open.length === DEEPEST) throw new FormatError(`line ${line}: elements are nested too deeply`);
      const element: OpenElement = { name, line, start, text: '', members: readAttributes(attributes) };
      if (listed === undefined && lists.includes(name)) {
        listed = element;
        length = 0;
      }
      length += name.length + Object.entries(attributes).join().length;
      open.push(element);
    },
    text(text: string): void {
      length += text.length;
      if (listed !== undefined && length <= LONGEST_RECORD) (open.at(-1) as OpenElement).text += text;
    },
    /** `impliedAt` is the index of the tag that closes it without naming it. */
    close(impliedAt?: number): void {
      const element = open.pop() as OpenElement;
      if (impliedAt !== undefined && impliedAt !== element.start)
        unclosed ??= `<${element.name}> of line ${element.line}`;
      if (listed === element) {
        listed = undefined;
        found.push(buildEntry(element, length));
      } else if (listed !== undefined && length <= LONGEST_RECORD)
        addChild(open.at(-1) as OpenElement, element);
    },
    refuseUnclosed(): void {
      if (unclosed !== undefined)
        throw new FormatError(`${unclosed} is not closed: the XML is cut off or malformed`);
    },
    take(): Entry[] {
      const entries = found;
      found = [];
      return entries;
    },
  };
}

function readAttributes(attributes: Record<string, string>): Members | undefined {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return undefined;
  const members = Object.create(null) as Members;
  for (const [name, value] of entries) members[`@${name}`] = value;
  return members;
}

/** A name that comes several times becomes an array. */
function addChild(parent: OpenElement, child: OpenElement): void {
  parent.members ??= Object.create(null) as Members;
  const before = parent.members[child.name];
  const content = readContent(child);
  if (before === undefined) parent.members[child.name] = content;
  else if (Array.isArray(before)) before.push(content);
  else parent.members[child.name] = [before, content];
}

function readContent({ text, members }: OpenElement): Content {
  if (members === undefined) return text;
  return text.trim() === '' ? members : Object.assign(members, { '#text': text });
}

function buildEntry(element: OpenElement, length: number): Entry {
  const { name, line } = element;
  if (length > LONGEST_RECORD) return problemAt(line, `<${name}> is longer than 1 MiB`);
  const content = readContent(element);
  const value = typeof content === 'string' ? { '#text': content } : content;
  return { line, value, text: () => JSON.stringify(value) };
}
