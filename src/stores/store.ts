// The contract between Vitrine and the place where its records live. A method may answer now or later.
import type { Family, KindName } from '../records/kinds.ts';
import type { Row } from '../records/row.ts';

export type Awaitable<T> = T | Promise<T>;

/** How many records of each kind. */
export type Counts = Record<KindName, number>;

export interface StoreEvents {
  /** How often other data took the place of what was served. */
  swaps: number;
  /** How often other data was not fit to. */
  refusals: number;
}

/** The side that serves: it cannot write, by construction. */
export interface Reader {
  /** Moves whenever what was committed may differ from what was read before. */
  version(): number;
  /** The profile's JSON text, or undefined when nobody has that name. */
  profile(family: Family, userKey: string): Awaitable<Buffer | undefined>;
  /** The newest items as the JSON text of an object whose one member is the list, or undefined when nobody has that name. */
  items(family: Family, userKey: string, collection: string): Awaitable<Buffer | undefined>;
  counts(): Awaitable<Counts>;
  /** Every record's JSON text, profiles before items, in an order that depends on nothing but the data. */
  records(): Iterable<string> | AsyncIterable<string>;
  /** What became of the data while it was served. */
  readonly events: StoreEvents;
  /** Why the data cannot be read, in one sentence; undefined when it can. */
  fault(): Awaitable<string | undefined>;
  close(): Awaitable<void>;
}

export interface LoadOptions {
  /** What is loaded becomes the whole of each family in it. */
  readonly replace: boolean;
  /** Misfits are left out; otherwise one of them refuses the whole. */
  readonly skipInvalid: boolean;
  /** Told of each row that passed its own checks but does not fit the rest. */
  readonly onMisfit: (misfit: Misfit) => void;
}

export interface Misfit {
  /** The number that was given to `add`. */
  readonly place: number;
  readonly member: string;
  readonly reason: string;
  readonly got: string;
  readonly record: string;
}

export interface Tally {
  new: number;
  changed: number;
  unchanged: number;
  removed: number;
}
export type Tallies = Record<KindName, Tally>;

/** One import: nothing shows before `finish` has committed all of it. */
export interface Load {
  /** `place` tells where the row came from and grows from row to row; of two rows with one id the later wins. */
  add(row: Row, place: number): Awaitable<void>;
  /** What landed; undefined when nothing did because of misfits. */
  finish(): Awaitable<Tallies | undefined>;
  abandon(): Awaitable<void>;
}

/** The side that changes data. */
export interface Writer {
  load(options: LoadOptions): Awaitable<Load>;
  /** Takes one user and all their items away; undefined when nobody has that name. */
  remove(family: Family, userKey: string): Awaitable<{ items: number } | undefined>;
  close(): Awaitable<void>;
}

/** What went wrong with the data itself, told in a sentence for the operator. */
export class StoreError extends Error {
  override name = 'StoreError';
}
