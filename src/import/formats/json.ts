// JSON of any size: finds the records in arrays and in named lists byte by byte, and has JSON.parse read each. A saved
// response body is an object that begins with a list, named as in one of the variants.
import { type Entry, excerpt, LONGEST_RECORD, problemAt, type RecordReader, tooLong } from './entry.ts';
import { LIST_NAMES, readBytes } from './json-text.ts';

const [TAB, NEWLINE, RETURN, SPACE, QUOTE, COMMA, BACKSLASH] = [9, 10, 13, 32, 34, 44, 92];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

const SEPARATORS = [SPACE, NEWLINE, RETURN, TAB, COMMA];
const JUNK_ENDS = [COMMA, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT];

/** More than a brace, any name with its quotation marks, a colon and blanks take. */
const LONGEST_NAME = 1024;
const NAME_BEFORE = /(\{\s*)?"((?:[^"\\]|\\.)*)"\s*:\s*[[{]$/;
/** How deep lists are looked for. */
const DEEPEST_LIST = 10;

interface OpenArray {
  readonly line: number;
  /** Of the object that it is a member of: how many brackets are open in it, and its line. */
  readonly depth: number;
  readonly start: number;
  /** Its path in that object, such as `db.data.posts`; empty if it is in no object. */
  readonly path: string;
}

/**
 * | it is | shown by | and goes on when |
 * |---|---|---|
 * | between values | `#depth` is 0 | a bracket begins a value or the outermost array, or ends an array; anything else begins junk |
 * | in a value | `#depth` > 0 | its last bracket closes, which is a record; or a bracket in it opens a list of records |
 * | in junk | `#isJunk` | a comma, a bracket or the end of the line comes |
 *
 * `#arrays` are the arrays of records that are open. In a list that is a member of an object, it is between values. When the list
 * ends, it is in that object again, at the `depth` that the list began at, and passes over the rest (`#hadList`).
 */
export class JsonReader implements RecordReader {
  readonly #lists: readonly string[];
  readonly #arrays: OpenArray[] = [];
  #found: Entry[] = [];
  #held: Buffer = Buffer.alloc(0);
  /** The next byte. */
  #at = 0;
  #line: number;

  // About the value that is being read.
  #start = 0;
  #startLine = 0;
  /** How many brackets are open in it; 0 between values. */
  #depth = 0;
  #isInString = false;
  #isJunk = false;
  #isTooLong = false;
  /** Whether it is an object of which a list was read: the rest of it is no record. */
  #hadList = false;
  /** The name of each object and array that is open in it; empty for an element. */
  #names: string[] = [];

  /**
   * `lists` names members that hold lists of records, by their path in an object, such as `db.data.posts`. The rest of the
   * object is passed over.
   */
  constructor(firstLine: number, lists: readonly string[] = []) {
    this.#line = firstLine;
    this.#lists = lists;
  }

  read(piece: Buffer): Entry[] {
    this.#held = Buffer.concat([this.#held.subarray(this.#start), piece]);
    this.#at -= this.#start;
    this.#start = 0;
    while (this.#at < this.#held.length) this.#step();
    this.#isTooLong ||= this.#at - this.#start > LONGEST_RECORD;
    if (this.#isTooLong || this.#hadList) this.#start = Math.max(this.#start, this.#at - LONGEST_NAME);
    return this.#takeFound();
  }

  end(): Entry[] {
    if (this.#isJunk) this.#endJunk();
    const array = this.#arrays.at(-1);
    const end = `is not closed: the file ends at line ${this.#line}`;
    if (this.#depth > 0) this.#found.push(problemAt(this.#startLine, `this record ${end}`, this.#takeText()));
    else if (array !== undefined) this.#found.push(problemAt(array.line, `this array ${end}`));
    return this.#takeFound();
  }

  #takeFound(): Entry[] {
    const found = this.#found;
    this.#found = [];
    return found;
  }

  #step(): void {
    if (this.#isJunk) this.#readJunk();
    else if (this.#depth > 0) this.#readValue();
    else this.#beginValue();
  }

  /** Commas between values are passed over, whether they are needed or not. */
  #beginValue(): void {
    this.#start = this.#at;
    this.#startLine = this.#line;
    // `read` stops at the end of #held.
    const byte = this.#held[this.#at++] as number;
    if (byte === NEWLINE) this.#line++;
    if (SEPARATORS.includes(byte)) this.#start = this.#at;
    else if (byte === CLOSE_ARRAY && this.#arrays.length > 0) this.#closeArray();
    else if (byte === OPEN_ARRAY && this.#arrays.length === 0) this.#openArray('');
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.#depth = 1;
    else {
      this.#isJunk = true;
      this.#isInString = byte === QUOTE;
    }
  }

  #openArray(path: string): void {
    this.#arrays.push({ line: this.#line, depth: this.#depth, start: this.#startLine, path });
    this.#depth = 0;
    this.#isTooLong = false;
    this.#hadList = false;
    this.#start = this.#at;
  }

  /** The object around a named list goes on: perhaps it has another list. */
  #closeArray(): void {
    // It is called only while an array is open.
    const { depth, start } = this.#arrays.pop() as OpenArray;
    this.#depth = depth;
    this.#startLine = start;
    this.#start = this.#at;
    this.#hadList = depth > 0;
  }

  // Every byte of every record passes through this loop.
  #readValue(): void {
    const held = this.#held;
    while (this.#at < held.length) {
      const byte = held[this.#at++];
      if (byte === NEWLINE) this.#line++;
      if (this.#isInString) {
        if (byte === BACKSLASH) this.#at++;
        else if (byte === QUOTE) this.#isInString = false;
      } else if (byte === QUOTE) this.#isInString = true;
      else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        this.#depth++;
        const path = this.#depth > DEEPEST_LIST ? undefined : this.#findList(byte === OPEN_ARRAY);
        if (path === undefined) continue;
        this.#depth--;
        return this.#openArray(path);
      } else if ((byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) && --this.#depth === 0)
        return this.#endValue();
    }
  }

  /** The path of the list of records that the bracket just read opens; undefined if it opens something else. */
  #findList(isArray: boolean): string | undefined {
    if (this.#arrays.some(({ depth }) => depth > 0)) return undefined;
    if (this.#lists.length === 0) return isArray && this.#depth === 2 ? this.#findBodyList() : undefined;
    const [, , name = ''] = this.#readNameBefore();
    this.#names = [...this.#names.slice(0, this.#depth - 2), name];
    if (!isArray || name === '') return undefined;
    const path = this.#names.filter((one) => one !== '').join('.');
    return this.#lists.includes(path) ? path : undefined;
  }

  /** The list of a saved response body, or of a file as json-server has it, is the first member. */
  #findBodyList(): string | undefined {
    if (!this.#hadList && this.#at - this.#start > LONGEST_NAME) return undefined;
    const [, brace, name = ''] = this.#readNameBefore();
    return LIST_NAMES.includes(name) && (this.#hadList || brace !== undefined) ? name : undefined;
  }

  #readNameBefore(): readonly (string | undefined)[] {
    const before = this.#held.toString('utf8', Math.max(this.#start, this.#at - LONGEST_NAME), this.#at);
    return NAME_BEFORE.exec(before) ?? [];
  }

  #endValue(): void {
    const bytes = this.#held.subarray(this.#start, this.#at);
    const isPassedOver = this.#hadList;
    const isTooLong = this.#isTooLong || bytes.length > LONGEST_RECORD;
    this.#start = this.#at;
    this.#hadList = false;
    this.#isTooLong = false;
    if (isPassedOver) return;
    if (isTooLong) {
      const advice = this.#lists.length === 0 ? NAME_LISTS : NO_LISTS;
      const isInArray = this.#arrays.length > 0;
      return void this.#found.push(tooLong(this.#startLine, isInArray ? '' : advice));
    }
    const list = this.#arrays.at(-1)?.path || undefined;
    for (const entry of readBytes(bytes, this.#startLine, list)) this.#found.push(entry);
  }

  // Junk ends where a record could begin, and at the end of its line: one quotation mark must not swallow the rest.
  #readJunk(): void {
    while (this.#at < this.#held.length) {
      // The index is one of #held.
      const byte = this.#held[this.#at] as number;
      if (byte === NEWLINE || (!this.#isInString && JUNK_ENDS.includes(byte))) return this.#endJunk();
      if (byte === QUOTE) this.#isInString = !this.#isInString;
      this.#at++;
    }
  }

  #endJunk(): void {
    const text = this.#takeText();
    this.#isJunk = false;
    this.#isInString = false;
    this.#isTooLong = false;
    this.#found.push(
      problemAt(this.#startLine, `expected a record, a JSON object, but got ${excerpt(text)}`, text),
    );
  }

  #takeText(): string {
    const text = this.#held.toString('utf8', this.#start, this.#at);
    this.#start = this.#at;
    return text;
  }
}

/** What to do about an object that is too long, without and with names of lists. */
const NAME_LISTS = ': lists in an object are read by a map (--map) whose `lists` names them';
const NO_LISTS = ', and has none of the lists that the map names';
