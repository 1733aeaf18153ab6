// What every reader yields: raw records, or the problem in a record's place, each with its line.

import type { KindName } from '../../records/kinds.ts';
import type { RawRecord } from '../../records/normalise.ts';
import { printable } from '../../records/printable.ts';

export type Entry = {
  readonly line: number;
  /** One line of NDJSON from which the record can be mended and imported again. */
  readonly text: () => string;
  /** Whether it is what a map returned. */
  readonly isMapped?: boolean;
  /** The kind of the record, if its place tells it. */
  readonly kind?: KindName | undefined;
  /** The list that it is from, of those that were asked for. */
  readonly list?: string | undefined;
} & ({ readonly value: RawRecord } | { readonly problem: string });

/** A reader is given a file in pieces of at most 64 KiB, then `end` once. */
export interface RecordReader {
  read(piece: Buffer): Entry[];
  end(): Entry[];
}

/** A longer record is refused without being held in memory. */
export const LONGEST_RECORD = 1024 * 1024;

export function problemAt(line: number, problem: string, source = ''): Entry {
  return { line, problem, text: () => oneLine(source) };
}

export const tooLong = (line: number, advice = ''): Entry => problemAt(line, `longer than 1 MiB${advice}`);

const EXCERPT = 40;

/** The beginning of a source text in quotation marks, for a message. */
export function excerpt(source: string): string {
  const start = printable(oneLine(source.slice(0, 2 * EXCERPT)).trim());
  const isCut = start.length > EXCERPT || source.length > 2 * EXCERPT;
  return JSON.stringify(isCut ? `${start.slice(0, EXCERPT)}…` : start);
}

/** JSON means the same with spaces for line breaks. */
export function oneLine(source: string): string {
  return source.includes('\n') || source.includes('\r') ? source.replace(/[\r\n]+\s*/g, ' ') : source;
}

/** A file that cannot be imported at all, and why: one sentence for the operator. */
export class FormatError extends Error {
  override name = 'FormatError';
}

/** The file has no records: alone, that is a mistake; among other files it does no harm. */
export class NoRecordsError extends FormatError {
  override name = 'NoRecordsError';

  constructor() {
    super('it has no records');
  }
}
