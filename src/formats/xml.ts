// XML: the elements with given names become objects, one at a time, for a map to make records of.
import { Parser } from 'htmlparser2';
import { type Entry, FormatError, LONGEST_RECORD, problemAt, type RecordReader } from './entry.ts';
import { writeJson } from './json-text.ts';

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
  let line = firstLine;
  let found: Entry[] = [];
  const elements = createElements(
    lists,
    () => line,
    (entry) => void found.push(entry),
  );

  /** Line by line, so that elements know theirs. */
  function write(piece?: Buffer): Entry[] {
    const [first = '', ...others] = decode(piece).split('\n');
    elements.write(first);
    for (const next of others) {
      line++;
      elements.write(`\n${next}`);
    }
    const entries = found;
    found = [];
    return entries;
  }

  function decode(piece?: Buffer): string {
    try {
      return decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      throw new FormatError(`not valid UTF-8 from line ${line} on: save the file as UTF-8`);
    }
  }

  return {
    read: write,
    end() {
      const entries = write();
      const unclosed = elements.unclosed();
      if (unclosed !== undefined) throw new FormatError(`<${unclosed}> is not closed: the XML is cut off`);
      return entries;
    },
  };
}

/** Calls `onEntry` with each listed element when it is closed. */
function createElements(
  lists: readonly string[],
  currentLine: () => number,
  onEntry: (entry: Entry) => void,
) {
  /** The listed element that is open, and the open elements in it. */
  const open: OpenElement[] = [];
  /** The names of the open elements around it. */
  const around: string[] = [];

  const isTooLong = () => parser.endIndex - (open[0]?.start ?? 0) > LONGEST_RECORD;
  const parser: Parser = new Parser(
    {
      onopentag(name, attributes) {
        if (open.length === 0 && !lists.includes(name)) return void around.push(name);
        const place = { line: currentLine(), start: parser.startIndex };
        open.push({ name, ...place, text: '', members: readAttributes(attributes) });
      },
      ontext(text) {
        const element = open.at(-1);
        if (element !== undefined && !isTooLong()) element.text += text;
      },
      onclosetag() {
        const element = open.pop();
        const parent = open.at(-1);
        if (element === undefined) around.pop();
        else if (parent === undefined) onEntry(buildEntry(element, parser.endIndex));
        else if (!isTooLong()) addChild(parent, element);
      },
    },
    { xmlMode: true },
  );

  return {
    write: (text: string) => parser.write(text),
    /** The name of an element that is not closed yet. */
    unclosed: () => open[0]?.name ?? around.at(-1),
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

function buildEntry(element: OpenElement, end: number): Entry {
  const { name, line, start } = element;
  if (end - start > LONGEST_RECORD) return problemAt(line, `<${name}> is longer than 1 MiB`);
  const content = readContent(element);
  const value = typeof content === 'string' ? { '#text': content } : content;
  return { line, value, text: () => writeJson(value) };
}
