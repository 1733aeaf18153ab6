// What the writing side of every store takes and returns. A method may answer now or later.
import type { KindName } from '../records/kinds.ts';
import type { Row } from '../records/row.ts';
import type { createWriter } from './create-writer.ts';
import type { Awaitable } from './reader.ts';
import type { RemovalLimit } from './removal-limit.ts';

export interface LoadOptions {
  /** The loaded records replace everything of the families they belong to. */
  readonly replace: boolean;
  /** How much of a kind of record a replacement may remove. Without it: everything. */
  readonly maxRemoved?: RemovalLimit | undefined;
  /** Misfits are left out; otherwise one misfit refuses the whole load. */
  readonly skipInvalid: boolean;
  /** Called with each row that is valid by itself but does not fit the rest. */
  readonly onMisfit: (misfit: Misfit) => Awaitable<void>;
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
  /** Left out because the user or the item was taken down. */
  takenDown: number;
}

export type Tallies = Record<KindName, Tally>;

/**
 * How a load ends: `commit` makes it visible; `try` finds out what it would change and keeps nothing; `refuse` finds the
 * misfits only, for an import with faults that are known already.
 */
export type LoadOutcome = 'commit' | 'try' | 'refuse';

/** One import. Nothing is visible before `finish` has committed everything. */
export interface Load {
  /** `place` tells where the row came from and never decreases; of two rows with one id the later wins. */
  add(row: Row, place: number): Awaitable<void>;
  /** The tallies; undefined when the load was refused, by its ending or for misfits. */
  finish(ending?: LoadOutcome): Awaitable<Tallies | undefined>;
  abandon(): Awaitable<void>;
}

/** What became of the original address of a picture. */
export interface MediaEntry {
  readonly url: string;
  /** The name of our copy; null if it could not be had. */
  readonly file: string | null;
  readonly bytes: number;
  /** Why there is no copy. */
  readonly reason: string | null;
}

export interface PrunedMedia {
  /** Addresses that no record has named for long enough. */
  readonly forgotten: number;
  /** Addresses that no record names, but not for long enough yet. */
  readonly waiting: number;
}

/** Removes files from the folder of copies. */
export type RemoveFiles = (names: readonly string[]) => Awaitable<void>;

export type Writer = ReturnType<typeof createWriter>;
