// What every store offers, to those who read and to those who write. A method may answer now or later.
import type { Family, KindName } from '../records/kinds.ts';
import { printable } from '../records/printable.ts';
import type { Row } from '../records/row.ts';

export type Awaitable<T> = T | Promise<T>;

/** How many records of each kind. */
export type Counts = Record<KindName, number>;

/** JSON text ready to be sent, with its ETag. */
export interface Stored {
  readonly etag: string;
  /** Null when the client already has it: the ETag was among those it named. */
  readonly body: Buffer | null;
}

export interface StoreEvents {
  /** How often other data replaced what was served. */
  swaps: number;
  /** How often other data was refused. */
  refusals: number;
}

/** What happened to the data that is served, as a sentence for the log. */
export interface StoreEvent {
  readonly type: 'data-changed' | 'data-warning' | 'data-fault';
  readonly message: string;
}
export type StoreListener = (event: StoreEvent) => void;

/** One of several databases with the same data. */
export interface HostState {
  readonly name: string;
  /** It answers, and can be read from. */
  readonly up: boolean;
  /** How many seconds its data is older than the newest, by the times of the imports. */
  readonly lag: number;
  /** Lookups go to it. */
  readonly inUse: boolean;
}

/** The reading side. It cannot write, by construction. */
export interface Reader {
  /** Changes whenever committed data may differ from what was read before. */
  version(): number;
  /**
   * The profile of a user; undefined for an unknown user. `known` is the client's If-None-Match: when the ETag stands
   * in it, the body is not read.
   */
  profile(family: Family, userKey: string, known?: string): Awaitable<Stored | undefined>;
  /** The newest items, as an object with one member named `collection`. */
  items(family: Family, userKey: string, collection: string, known?: string): Awaitable<Stored | undefined>;
  /** Whether the user with this name was taken down. */
  isTakenDown(family: Family, userKey: string): Awaitable<boolean>;
  takedowns(): Awaitable<TakedownList>;
  /** What the addresses of copies of pictures begin with; undefined when there are none. */
  mediaUrl(): Awaitable<string | undefined>;
  /** The names of the users with the lowest ids. */
  firstUsers(family: Family, count: number): Awaitable<readonly string[]>;
  counts(): Awaitable<Counts>;
  /** Of the schema that it reads. */
  readonly schema: number;
  /** When the data was changed last, in seconds since 1970; undefined when nothing was imported yet. */
  lastImport(): number | undefined;
  /** Every record's JSON text, profiles before items, in an order that depends on the data only. */
  records(): AsyncIterable<string>;
  readonly events: StoreEvents;
  hosts?(): HostState[];
  /** Why a newer file is not served, as a sentence; undefined when none waits. */
  waiting?(): string | undefined;
  /** Why the data cannot be read, as a sentence; undefined when it can. */
  fault(): Awaitable<string | undefined>;
  close(): Awaitable<void>;
}

export interface LoadOptions {
  /** The loaded records replace everything of the families they belong to. */
  readonly replace: boolean;
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
export type Ending = 'commit' | 'try' | 'refuse';

/** One import. Nothing is visible before `finish` has committed everything. */
export interface Load {
  /** `place` tells where the row came from and never decreases; of two rows with one id the later wins. */
  add(row: Row, place: number): Awaitable<void>;
  /** The tallies; undefined when the load was refused, by its ending or for misfits. */
  finish(ending?: Ending): Awaitable<Tallies | undefined>;
  abandon(): Awaitable<void>;
}

export type TakedownKind = 'user' | 'item';

/** Who or what is to be taken down: the key of a user's name, or the id of an item. */
export interface TakedownSubject {
  readonly family: Family;
  readonly kind: TakedownKind;
  readonly value: string;
}

/** What became of a subject: it was removed; it was not here; it was taken down before. */
export type TakedownState = 'removed' | 'unknown' | 'known';

export interface TakedownResult {
  /** In the order of the subjects. */
  readonly states: readonly TakedownState[];
  readonly users: number;
  readonly items: number;
}

/** A hash in the list. The name and the id of a user share the entry, which is the hash of the name. */
export interface TakedownEntry {
  readonly hash: string;
  readonly entry: string;
  readonly family: Family;
  readonly kind: TakedownKind;
  /** The day, as YYYY-MM-DD. */
  readonly since: string;
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

/** All takedowns of a database. */
export interface TakedownList {
  readonly salts: readonly string[];
  readonly entries: readonly TakedownEntry[];
}

/** The writing side. */
export interface Writer {
  load(options: LoadOptions): Awaitable<Load>;
  /** Removes one user and all their items; undefined for an unknown user. */
  remove(family: Family, userKey: string): Awaitable<{ items: number } | undefined>;
  /** Removes users and items, and the copies that only they named; keeps imports from bringing them back. */
  takeDown(subjects: readonly TakedownSubject[], removeFiles: RemoveFiles): Awaitable<TakedownResult>;
  /** Lets imports bring them again; whether each had been taken down. */
  undoTakedowns(subjects: readonly TakedownSubject[]): Awaitable<boolean[]>;
  /** Takes over the takedowns of another database; how much that removed here. */
  adoptTakedowns(list: TakedownList, removeFiles: RemoveFiles): Awaitable<{ users: number; items: number }>;
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
  close(): Awaitable<void>;
}

export interface CheckResult {
  readonly faults: readonly string[];
  /** Undefined when the database is too damaged to be counted. */
  readonly counts: Counts | undefined;
}

/** A fault of the data or the database, as a sentence for the operator. */
export class StoreError extends Error {
  override name = 'StoreError';
  constructor(message: string, options?: ErrorOptions) {
    super(printable(message), options);
  }
}

/** There is nothing to serve yet. The sentence says which command ends that. */
export class NoDataError extends StoreError {}

/** The schema of a database before it was migrated, and now. */
export interface Migrated {
  readonly from: number;
  readonly to: number;
}
