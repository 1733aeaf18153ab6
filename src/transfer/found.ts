// What every reader of this room hands on: raw records, or why there is none, each with its line.

/** One thing found in a file: a raw object, or why there is none there. */
export type Found =
  | { readonly line: number; readonly value: RawRecord; readonly text: () => string }
  | { readonly line: number; readonly problem: string; readonly text: () => string };

export type RawRecord = Record<string, unknown>;

/** No record is longer than this many bytes; what is, gets refused without being held in memory. */
export const LONGEST = 1024 * 1024;

/** Puts together what lies across chunks; of what is too long it keeps little more than the limit. */
export interface Carry {
  readonly length: number;
  add(bytes: Buffer): void;
  /** All that was added, with `last` at its end; longer than `LONGEST` if it was ever too long. */
  take(last: Buffer): Buffer;
}

export function createCarry(): Carry {
  let pieces: Buffer[] = [];
  let length = 0;

  function add(bytes: Buffer) {
    if (length > LONGEST || bytes.length === 0) return;
    pieces.push(bytes);
    length += bytes.length;
  }

  function take(last: Buffer) {
    if (length === 0) return last;
    add(last);
    const whole = Buffer.concat(pieces, length);
    pieces = [];
    length = 0;
    return whole;
  }

  return {
    get length() {
      return length;
    },
    add,
    take,
  };
}

export function problemAt(line: number, problem: string, source = ''): Found {
  return { line, problem, text: () => oneLine(source) };
}

export function tooLong(line: number, bytes: Buffer): Found {
  return problemAt(line, 'longer than 1 MiB', `${bytes.toString('utf8', 0, 200)}…`);
}

/** A few words of a source text, to be quoted in a message. */
export function glimpse(source: string): string {
  const short = oneLine(source.slice(0, 60)).trim();
  return JSON.stringify(short.length > 40 || source.length > 60 ? `${short.slice(0, 40)}…` : short);
}

/** JSON means the same with its line breaks as spaces. */
export function oneLine(source: string): string {
  return source.includes('\n') || source.includes('\r') ? source.replace(/[\r\n]+\s*/g, ' ') : source;
}
