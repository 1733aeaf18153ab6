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

/** More than people write. Each open element takes memory, and time at the next one. */
const MOST_OPEN = 1000;

export class XmlReader implements RecordReader {
  readonly #lists: readonly string[];
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #parser: Parser;
  #line: number;
  #found: Entry[] = [];
  /** The listed element that is open, and the open elements in it. */
  readonly #open: OpenElement[] = [];
  /** The names of the open elements around it. */
  readonly #around: string[] = [];

  /** `lists` names the elements that become objects. */
  constructor(firstLine: number, lists: readonly string[]) {
    if (lists.length === 0)
      throw new FormatError(
        "this is XML: the map must name the elements that it is given, as in export const lists = ['item']",
      );
    this.#line = firstLine;
    this.#lists = lists;
    this.#parser = new Parser(
      {
        onopentag: (name, attributes) => this.#openElement(name, attributes),
        ontext: (text) => this.#addText(text),
        onclosetag: () => this.#closeElement(),
      },
      { xmlMode: true },
    );
  }

  /** Line by line, so that elements know theirs. */
  read(piece?: Buffer): Entry[] {
    const [first = '', ...others] = this.#decode(piece).split('\n');
    this.#parser.write(first);
    for (const next of others) {
      this.#line++;
      this.#parser.write(`\n${next}`);
    }
    const entries = this.#found;
    this.#found = [];
    return entries;
  }

  end(): Entry[] {
    const entries = this.read();
    const unclosed = this.#open[0]?.name ?? this.#around.at(-1);
    if (unclosed !== undefined) throw new FormatError(`<${unclosed}> is not closed: the XML is cut off`);
    return entries;
  }

  #decode(piece?: Buffer): string {
    try {
      return this.#decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      throw new FormatError(`not valid UTF-8 from line ${this.#line} on: save the file as UTF-8`);
    }
  }

  #openElement(name: string, attributes: Record<string, string>): void {
    if (this.#open.length + this.#around.length === MOST_OPEN)
      throw new FormatError(`more than ${MOST_OPEN} elements are open at line ${this.#line}`);
    if (this.#open.length === 0 && !this.#lists.includes(name)) return void this.#around.push(name);
    const place = { line: this.#line, start: this.#parser.startIndex };
    this.#open.push({ name, ...place, text: '', members: readAttributes(attributes) });
  }

  #addText(text: string): void {
    const element = this.#open.at(-1);
    if (element !== undefined && !this.#isTooLong()) element.text += text;
  }

  #closeElement(): void {
    const element = this.#open.pop();
    const parent = this.#open.at(-1);
    if (element === undefined) this.#around.pop();
    else if (parent === undefined) this.#found.push(buildEntry(element, this.#parser.endIndex));
    else if (!this.#isTooLong()) addChild(parent, element);
  }

  #isTooLong(): boolean {
    return this.#parser.endIndex - (this.#open[0]?.start ?? 0) > LONGEST_RECORD;
  }
}

const createMembers = (): Members => Object.create(null);

function readAttributes(attributes: Record<string, string>): Members | undefined {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return undefined;
  const members = createMembers();
  for (const [name, value] of entries) members[`@${name}`] = value;
  return members;
}

/** A name that comes several times becomes an array. */
function addChild(parent: OpenElement, child: OpenElement): void {
  parent.members ??= createMembers();
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
  return { line, value, list: name, text: () => writeJson(value) };
}
