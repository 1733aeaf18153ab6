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

// More than people write. The parser holds all names that are open, and each tag, comment and CDATA section up to its end.
const MOST_OPEN = 1000;
const LONGEST_NAME = 1000;
const MOST_ATTRIBUTES = 1000;
const LONGEST_MARKUP = 8 * LONGEST_RECORD;

export class XmlReader implements RecordReader {
  readonly #lists: readonly string[];
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #parser: Parser;
  #line: number;
  /** The text that the parser was given last; how many characters came before it; up to where its lines are counted. */
  #text = '';
  #textStart = 0;
  #counted = 0;
  #found: Entry[] = [];
  /** Of the tag that is read. */
  #attributes = 0;
  #tagStart = 0;
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
        onopentagname: (name) => this.#beginTag(name),
        onattribute: () => this.#checkTag(),
        onopentag: (name, attributes) => this.#openElement(name, attributes),
        ontext: (text) => this.#addText(text),
        onclosetag: () => this.#closeElement(),
        // The parser lets go of what it has handed over.
        oncomment: () => {},
      },
      { xmlMode: true },
    );
  }

  read(piece?: Buffer): Entry[] {
    this.#textStart += this.#text.length;
    this.#text = this.#decode(piece);
    this.#counted = 0;
    this.#parser.write(this.#text);
    const end = this.#textStart + this.#text.length;
    this.#countLines(end);
    if (end - this.#parser.endIndex > LONGEST_MARKUP)
      throw this.#refuse(`a tag, comment or CDATA section is longer than ${LONGEST_MARKUP >> 20} MiB`);
    const entries = this.#found;
    this.#found = [];
    return entries;
  }

  /** Of the text up to this index. */
  #countLines(end: number): void {
    for (;;) {
      const at = this.#text.indexOf('\n', this.#counted);
      if (at === -1 || at >= end - this.#textStart) return;
      this.#line++;
      this.#counted = at + 1;
    }
  }

  #refuse(problem: string): FormatError {
    return new FormatError(`${problem} at line ${this.#line}`);
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

  #beginTag(name: string): void {
    this.#countLines(this.#parser.endIndex);
    if (name.length > LONGEST_NAME) throw this.#refuse(`a name is longer than ${LONGEST_NAME} characters`);
    this.#attributes = 0;
    this.#tagStart = this.#parser.startIndex;
  }

  #checkTag(): void {
    if (++this.#attributes <= MOST_ATTRIBUTES && this.#parser.endIndex - this.#tagStart <= LONGEST_MARKUP)
      return;
    this.#countLines(this.#parser.endIndex);
    throw this.#refuse(`a tag has more than ${MOST_ATTRIBUTES} attributes or ${LONGEST_MARKUP >> 20} MiB`);
  }

  #openElement(name: string, attributes: Record<string, string>): void {
    this.#countLines(this.#parser.endIndex);
    if (this.#open.length + this.#around.length === MOST_OPEN)
      throw this.#refuse(`more than ${MOST_OPEN} elements are open`);
    if (this.#open.length === 0 && !this.#lists.includes(name)) return void this.#around.push(name);
    const place = { line: this.#line, start: this.#parser.startIndex };
    const element: OpenElement = { name, ...place, text: '', members: undefined };
    this.#open.push(element);
    if (!this.#isTooLong()) element.members = readAttributes(attributes);
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
