// JSON of any size: finds the records in arrays and in named lists byte by byte, and has JSON.parse read each. A saved
// response body is an object whose first member is a list named as in one of the variants.
import { COLLECTIONS } from '../variants.ts';
import { type Entry, excerpt, LONGEST_RECORD, problemAt, type RecordReader, tooLong } from './entry.ts';
import { readBytes } from './json-text.ts';

const [TAB, NEWLINE, RETURN, SPACE, QUOTE, COMMA, BACKSLASH] = [9, 10, 13, 32, 34, 44, 92];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

const SEPARATORS = [SPACE, NEWLINE, RETURN, TAB, COMMA];
const JUNK_ENDS = [COMMA, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT];
const NOTHING: readonly Entry[] = [];

/** More than a brace, any name with its quotation marks, a colon and blanks take. */
const LONGEST_NAME = 1024;
const OPENS_LIST = /(\{\s*)?"((?:[^"\\]|\\.)*)"\s*:\s*\[$/;

interface OpenArray {
  readonly line: number;
  /** Of the object whose member it is: how many brackets are open in it, and its line. */
  readonly depth: number;
  readonly start: number;
}

export class JsonReader implements RecordReader {
  readonly #lists: readonly string[];
  readonly #listDepth: number;
  readonly #longest: number;
  readonly #arrays: OpenArray[] = [];
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

  /**
   * `lists` names members that hold lists of records, wherever they stand in an object, `listDepth` brackets deep. The rest
   * of the object is passed over.
   */
  constructor(
    firstLine: number,
    lists: readonly string[] = [],
    { listDepth = 1, longest = LONGEST_RECORD } = {},
  ) {
    this.#line = firstLine;
    this.#lists = lists;
    this.#listDepth = listDepth;
    this.#longest = longest;
  }

  *read(piece: Buffer): Iterable<Entry> {
    this.#held = Buffer.concat([this.#held.subarray(this.#start), piece]);
    this.#at -= this.#start;
    this.#start = 0;
    while (this.#at < this.#held.length) yield* this.#step();
    const isLong = this.#at - this.#start > this.#longest;
    this.#isTooLong ||= isLong;
    if (isLong || this.#hadList) this.#start = Math.max(this.#start, this.#at - LONGEST_NAME);
  }

  *end(): Iterable<Entry> {
    if (this.#isJunk) yield* this.#endJunk();
    const array = this.#arrays.at(-1);
    const end = `is not closed: the file ends at line ${this.#line}`;
    if (this.#depth > 0) yield problemAt(this.#startLine, `this record ${end}`, this.#takeText());
    else if (array !== undefined) yield problemAt(array.line, `this array ${end}`);
  }

  #step(): Iterable<Entry> {
    if (this.#isJunk) return this.#readJunk();
    return this.#depth > 0 ? this.#readValue() : this.#beginValue();
  }

  /** Commas between values are passed over, whether they are needed or not. */
  #beginValue(): Iterable<Entry> {
    this.#start = this.#at;
    this.#startLine = this.#line;
    const byte = this.#held[this.#at++] as number;
    if (byte === NEWLINE) this.#line++;
    if (SEPARATORS.includes(byte)) this.#start = this.#at;
    else if (byte === CLOSE_ARRAY && this.#arrays.length > 0) this.#closeArray();
    else if (byte === OPEN_ARRAY && this.#arrays.length === 0) this.#openArray();
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.#depth = 1;
    else {
      this.#isJunk = true;
      this.#isInString = byte === QUOTE;
    }
    return NOTHING;
  }

  #openArray(): void {
    this.#arrays.push({ line: this.#line, depth: this.#depth, start: this.#startLine });
    this.#depth = 0;
    this.#isTooLong = false;
    this.#hadList = false;
    this.#start = this.#at;
  }

  /** The object around a named list goes on: perhaps it has another list. */
  #closeArray(): void {
    const { depth, start } = this.#arrays.pop() as OpenArray;
    this.#depth = depth;
    this.#startLine = start;
    this.#start = this.#at;
    this.#hadList = depth > 0;
  }

  // Every byte of every record passes through this loop.
  #readValue(): Iterable<Entry> {
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
        if (byte !== OPEN_ARRAY || !this.#opensList()) continue;
        this.#depth--;
        this.#openArray();
        return NOTHING;
      } else if ((byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) && --this.#depth === 0)
        return this.#endValue();
    }
    return NOTHING;
  }

  /** Whether the bracket that was just read opens a list of records. */
  #opensList(): boolean {
    if (this.#depth !== this.#listDepth + 1 || this.#arrays.some(({ depth }) => depth > 0)) return false;
    const isOfMap = this.#lists.length > 0;
    // The list of a response body is its first member.
    if (!isOfMap && !this.#hadList && this.#at - this.#start > LONGEST_NAME) return false;
    const before = this.#held.toString('utf8', Math.max(this.#start, this.#at - LONGEST_NAME), this.#at);
    const [, brace, name] = OPENS_LIST.exec(before) ?? [];
    if (name === undefined || !(isOfMap ? this.#lists : COLLECTIONS).includes(name)) return false;
    return isOfMap || this.#hadList || brace !== undefined;
  }

  #endValue(): Iterable<Entry> {
    const bytes = this.#held.subarray(this.#start, this.#at);
    const isPassedOver = this.#hadList;
    const isTooLong = this.#isTooLong || bytes.length > this.#longest;
    this.#start = this.#at;
    this.#hadList = false;
    this.#isTooLong = false;
    if (isPassedOver) return NOTHING;
    return isTooLong ? [tooLong(this.#startLine)] : readBytes(bytes, this.#startLine);
  }

  // Junk ends where a record could begin, and at the end of its line: one quotation mark must not swallow the rest.
  #readJunk(): Iterable<Entry> {
    while (this.#at < this.#held.length) {
      const byte = this.#held[this.#at] as number;
      if (byte === NEWLINE || (!this.#isInString && JUNK_ENDS.includes(byte))) return this.#endJunk();
      if (byte === QUOTE) this.#isInString = !this.#isInString;
      this.#at++;
    }
    return NOTHING;
  }

  #endJunk(): Iterable<Entry> {
    const text = this.#takeText();
    this.#isJunk = false;
    this.#isInString = false;
    return [problemAt(this.#startLine, `expected a record, a JSON object, but got ${excerpt(text)}`, text)];
  }

  #takeText(): string {
    const text = this.#held.toString('utf8', this.#start, this.#at);
    this.#start = this.#at;
    return text;
  }
}
