// JSON of any size: finds the records in arrays and in named lists byte by byte, and has JSON.parse read each. A saved
// response body is an object whose first member is a list named as in one of the variants.
import { COLLECTIONS } from '../variants.ts';
import {
  createCarry,
  type Entries,
  excerpt,
  LONGEST_RECORD,
  problemAt,
  type RecordReader,
  tooLong,
} from './entry.ts';
import { readBytes } from './json-text.ts';

const [TAB, NEWLINE, RETURN, SPACE, QUOTE, COMMA, BACKSLASH] = [9, 10, 13, 32, 34, 44, 92];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

const SEPARATORS = [SPACE, NEWLINE, RETURN, TAB, COMMA];
const JUNK_ENDS = [NEWLINE, COMMA, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT];
const NO_BYTES = Buffer.alloc(0);
const LIST_SEEN = Buffer.from(']');

/** An array or a response body that is open around the current place. */
interface Bracket {
  readonly closer: number;
  /** Whether it is a list that a map names: the other members of its object are passed over. */
  readonly isNamedList?: boolean;
  readonly line: number;
}

/** Takes the bytes from a place on, and returns the place where the next step starts. */
type Step = (scanner: Scanner, piece: Buffer, at: number) => number;

/** `lists` names members that hold lists of records, wherever they stand in an object; the rest of it is passed over. */
export function createJsonReader(
  firstLine: number,
  lists: readonly string[] = [],
  longest = LONGEST_RECORD,
): RecordReader {
  const scanner = createScanner(firstLine, lists, longest);
  return {
    *read(piece) {
      for (let at = 0; at < piece.length; ) {
        at = scanner.step(scanner, piece, at);
        if (scanner.found.length > 0) yield* takeFound(scanner);
      }
    },
    end() {
      finish(scanner);
      return takeFound(scanner);
    },
  };
}

type Scanner = ReturnType<typeof createScanner>;

const createScanner = (line: number, lists: readonly string[], longest: number) => ({
  carry: createCarry(longest),
  longest,
  lists: createNamedLists(lists),
  /** From the outermost to the innermost. */
  brackets: [] as Bracket[],
  /** What was found in the piece and is not handed on yet. */
  found: [] as Entries[],
  line,
  step: betweenValues as Step,

  // About the value that is being read.
  start: 0,
  depth: 0,
  inString: false,
  afterBackslash: false,
  mayHoldList: false,
  /** Whether it is an object of which a list was read: the rest of it is no record. */
  heldList: false,
});

function* takeFound(scanner: Scanner) {
  const { found } = scanner;
  scanner.found = [];
  for (const entries of found) {
    if ('line' in entries) yield entries;
    else yield* entries;
  }
}

function report(scanner: Scanner, problem: string, line = scanner.line, source = ''): void {
  scanner.found.push(problemAt(line, problem, source));
}

/** Commas between values are passed over, whether they are needed or not. */
function betweenValues(scanner: Scanner, piece: Buffer, at: number): number {
  const byte = piece[at] as number;
  if (byte === NEWLINE) scanner.line++;
  if (SEPARATORS.includes(byte)) return at + 1;
  if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) closeBracket(scanner, byte);
  else if (byte === OPEN_ARRAY && scanner.brackets.length === 0) openBracket(scanner, CLOSE_ARRAY);
  else return beginValue(scanner, byte, at);
  return at + 1;
}

function closeBracket(scanner: Scanner, byte: number): void {
  const { brackets } = scanner;
  if (brackets.at(-1)?.closer !== byte) report(scanner, `unexpected ${String.fromCharCode(byte)}`);
  else if (brackets.pop()?.isNamedList) goOnBehindList(scanner);
}

function openBracket(scanner: Scanner, closer: number, line = scanner.line, isNamedList = false): void {
  scanner.brackets.push({ closer, line, isNamedList });
  scanner.step = betweenValues;
}

function beginValue(scanner: Scanner, byte: number, at: number): number {
  scanner.start = scanner.line;
  if (byte !== OPEN_OBJECT && byte !== OPEN_ARRAY) {
    scanner.step = insideJunk;
    return at;
  }
  if (scanner.brackets.at(-1)?.closer === CLOSE_OBJECT) report(scanner, 'a record outside of the list');
  scanner.heldList = false;
  scanner.mayHoldList =
    byte === OPEN_OBJECT &&
    !scanner.brackets.some(({ closer, isNamedList }) => closer === CLOSE_OBJECT || isNamedList);
  scanner.step = insideValue;
  return at;
}

// Every byte of every record passes through this loop and the next.
function insideValue(scanner: Scanner, piece: Buffer, start: number): number {
  const from = start;
  for (let at = scanner.inString ? skipString(scanner, piece, start) : start; at < piece.length; at++) {
    const byte = piece[at];
    if (byte === QUOTE) at = skipString(scanner, piece, at + 1) - 1;
    else if (byte === NEWLINE) scanner.line++;
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      if (--scanner.depth > 0) continue;
      endValue(scanner, scanner.carry.take(piece.subarray(from, at + 1)));
      return at + 1;
    } else if (
      (byte === OPEN_ARRAY || byte === OPEN_OBJECT) &&
      ++scanner.depth === 2 &&
      scanner.mayHoldList
    ) {
      if (byte === OPEN_ARRAY && scanner.lists.isOpenedBy(piece.subarray(from, at + 1))) {
        openList(scanner);
        return at + 1;
      }
      scanner.mayHoldList = scanner.lists.areAnywhere;
    }
  }
  scanner.carry.add(piece.subarray(from));
  if (scanner.mayHoldList) scanner.lists.passBy(piece.subarray(from));
  return piece.length;
}

/** The place after the string that is open at `from`, or the piece's end if the string goes on in the next piece. */
function skipString(scanner: Scanner, piece: Buffer, from: number): number {
  let at = scanner.afterBackslash && piece[from] !== NEWLINE ? from + 1 : from;
  scanner.afterBackslash = false;
  scanner.inString = true;
  for (; at < piece.length; at++) {
    const byte = piece[at];
    if (byte === QUOTE) {
      scanner.inString = false;
      return at + 1;
    }
    if (byte === NEWLINE) scanner.line++;
    else if (byte === BACKSLASH) {
      scanner.afterBackslash = at + 1 === piece.length;
      if (!scanner.afterBackslash && piece[at + 1] !== NEWLINE) at++;
    }
  }
  return at;
}

function openList(scanner: Scanner): void {
  scanner.carry.take(NO_BYTES);
  scanner.depth = 0;
  const { areAnywhere } = scanner.lists;
  if (areAnywhere) scanner.lists.passBy(LIST_SEEN);
  else openBracket(scanner, CLOSE_OBJECT, scanner.start);
  openBracket(scanner, CLOSE_ARRAY, scanner.line, areAnywhere);
}

/** The object goes on: perhaps it has another list. */
function goOnBehindList(scanner: Scanner): void {
  scanner.depth = 1;
  scanner.mayHoldList = true;
  scanner.heldList = true;
  scanner.step = insideValue;
}

function endValue(scanner: Scanner, bytes: Buffer): void {
  if (!scanner.heldList) scanner.found.push(readBytes(bytes, scanner.start, scanner.longest));
  scanner.step = betweenValues;
}

// Junk ends where a record could begin, and at the end of its line: one quotation mark must not swallow the rest.
function insideJunk(scanner: Scanner, piece: Buffer, from: number): number {
  for (let at = from; at < piece.length; at++) {
    const byte = piece[at] as number;
    if (byte === QUOTE) scanner.inString = !scanner.inString;
    if (byte !== NEWLINE && (scanner.inString || !JUNK_ENDS.includes(byte))) continue;
    endJunk(scanner, scanner.carry.take(piece.subarray(from, at)));
    scanner.inString = false;
    scanner.step = betweenValues;
    return at;
  }
  scanner.carry.add(piece.subarray(from));
  return piece.length;
}

function endJunk({ found, start }: Scanner, bytes: Buffer): void {
  const text = bytes.toString('utf8', 0, LONGEST_RECORD);
  if (bytes.length > LONGEST_RECORD) found.push(tooLong(start, bytes));
  else found.push(problemAt(start, `expected a record, a JSON object, but got ${excerpt(text)}`, text));
}

function finish(scanner: Scanner): void {
  const rest = scanner.carry.take(NO_BYTES);
  const { step, start, line } = scanner;
  const end = `is not closed: the file ends at line ${line}`;
  if (step === insideValue)
    return report(scanner, `this record ${end}`, start, rest.toString('utf8', 0, LONGEST_RECORD));
  if (step === insideJunk) endJunk(scanner, rest);
  const open = scanner.brackets.at(-1);
  if (open) report(scanner, `this ${open.closer === CLOSE_ARRAY ? 'array' : 'object'} ${end}`, open.line);
}

/** More than a brace, any name with its quotation marks, a colon and blanks take. */
const LONGEST_NAME = 1024;
const OPENS_LIST = /(\{\s*)?"((?:[^"\\]|\\.)*)"\s*:\s*\[$/;

/** The lists that a map names lie anywhere among the members of an object; the list of a response body is its first member. */
function createNamedLists(ofMap: readonly string[]) {
  const areAnywhere = ofMap.length > 0;
  const names = areAnywhere ? ofMap : COLLECTIONS;
  let seen: Buffer = Buffer.alloc(0);

  const tailWith = (bytes: Buffer) =>
    bytes.length >= LONGEST_NAME
      ? bytes.subarray(-LONGEST_NAME)
      : Buffer.concat([seen, bytes]).subarray(-LONGEST_NAME);

  return {
    areAnywhere,
    /** Bytes of the object that came before, outside of its lists. */
    passBy(bytes: Buffer): void {
      seen = tailWith(bytes);
    },
    /** Whether the bytes, which end with a bracket, open one of the lists. */
    isOpenedBy(bytes: Buffer): boolean {
      const [, brace, name] = OPENS_LIST.exec(tailWith(bytes).toString()) ?? [];
      return name !== undefined && names.includes(name) && (areAnywhere || brace !== undefined);
    },
  };
}
