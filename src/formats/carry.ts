// Joins a record that lies across several pieces of a file.
import { LONGEST_RECORD } from './entry.ts';

export interface Carry {
  readonly length: number;
  add(bytes: Buffer): void;
  /** Everything that was added, followed by `last`. A record that was too long is cut, but stays longer than the limit. */
  take(last: Buffer): Buffer;
}

export function createCarry(): Carry {
  let parts: Buffer[] = [];
  let length = 0;

  function add(bytes: Buffer): void {
    if (length > LONGEST_RECORD || bytes.length === 0) return;
    parts.push(bytes);
    length += bytes.length;
  }

  function take(last: Buffer): Buffer {
    if (length === 0) return last;
    add(last);
    const whole = Buffer.concat(parts, length);
    parts = [];
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
