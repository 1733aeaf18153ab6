// Range and If-Range (RFC 9110, 14.2 and 13.1.5): one range of bytes. Several ranges, and what is malformed, are ignored,
// which the standard allows.
import type { IncomingHttpHeaders } from 'node:http';

/** The first and the last byte. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/** What to send of a file: a range of it, the whole if undefined, or nothing since it has no such bytes. */
export function rangeOf(
  { range, 'if-range': ifRange }: IncomingHttpHeaders,
  etag: string,
  size: number,
): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = RANGE.exec(range ?? '') ?? [];
  if (first + last === '' || (ifRange !== undefined && ifRange !== etag)) return undefined;
  const fromEnd = first === '';
  const start = fromEnd ? Math.max(size - Number(last), 0) : Number(first);
  const end = fromEnd || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (!fromEnd && last !== '' && Number(last) < start) return undefined;
  return start > end ? 'unsatisfiable' : { start, end };
}
