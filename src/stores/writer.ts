// The writing side, which every store offers. A method may answer now or later.
import type { Family, KindName } from '../records/kinds.ts';
import type { Row } from '../records/row.ts';
import type { Change } from './changes.ts';
import type { Awaitable } from './reader.ts';
import type { RemovalLimit } from './removal-limit.ts';
import type { UntoldNews } from './subscribers.ts';
import type { TakedownList, TakedownResult, TakedownSubject } from './takedowns.ts';

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

interface WithChanges {
  /** Whose answers that changed. */
  readonly changes: readonly Change[];
}

/** The writing side. */
export interface Writer {
  load(options: LoadOptions): Awaitable<Load>;
  /** Removes one user and all their items; undefined for an unknown user. */
  remove(family: Family, userKey: string): Awaitable<{ items: number } | undefined>;
  /**
   * Removes users and items, and the copies that only they named; keeps imports from bringing them back. With `keepNames`
   * the names stay among the changes until `eraseNames`, so that subscribers can be told.
   */
  takeDown(
    subjects: readonly TakedownSubject[],
    removeFiles: RemoveFiles,
    keepNames?: boolean,
  ): Awaitable<TakedownResult & WithChanges>;
  /** Lets imports bring them again; whether each had been taken down. */
  undoTakedowns(subjects: readonly TakedownSubject[]): Awaitable<boolean[]>;
  /** Takes over the takedowns of another database; how much that removed here. */
  adoptTakedowns(
    list: TakedownList,
    removeFiles: RemoveFiles,
    keepNames?: boolean,
  ): Awaitable<{ users: number; items: number } & WithChanges>;
  /** Rebuilds the lists and ETags that do not match the items and records; how many there were. */
  repair(): Awaitable<number>;
  /**
   * Remembers copies of pictures, which are served once they are linked. `mark` is that of the archive in which records
   * named them: false, and nothing is remembered, if somebody was taken down since.
   */
  saveMedia(entries: readonly MediaEntry[], mark: string): Awaitable<boolean>;
  /** Rebuilds what is served, with every copy under this address; how many rows that changed. */
  relink(mediaUrl: string): Awaitable<number>;
  /** Forgets addresses that no record has named for `grace` seconds. */
  pruneMedia(grace: number): Awaitable<PrunedMedia>;
  /** Of the names of files, those that no copy has. */
  unknownFiles(names: readonly string[]): Awaitable<string[]>;
  /** What these subscribers have not been told yet. */
  readUntold(subscribers: readonly string[]): Awaitable<UntoldNews>;
  rememberTold(subscribers: readonly string[], generation: number): Awaitable<void>;
  /** Whether a takedown has left names for subscribers; waits for no other writer. */
  keepsNames(): Promise<boolean>;
  /** Erases them. */
  eraseNames(): Awaitable<void>;
  close(): Awaitable<void>;
}
