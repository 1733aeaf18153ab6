// The reading side, which SQLite and PostgreSQL both offer: the repository that the routes share. SQLite returns at once,
// PostgreSQL a promise.

import type { Family, KindName } from '../records/kinds.ts';
import type { CopyFacts } from './sql/media-statements.ts';

export type Awaitable<T> = T | Promise<T>;

/** How many records there are of each kind. */
export type Counts = Record<KindName, number>;

/** JSON text ready to be sent, with its ETag. */
export interface Answer {
  readonly etag: string;
  /** Null when the client already has it: the ETag was among those it named. */
  readonly body: Buffer | null;
  /** The body is compressed, or would be if it were not null. */
  readonly isGzip?: boolean;
}

export interface LookupOptions {
  /** The client's If-None-Match: when the ETag stands in it, the body is not read. */
  readonly known?: string | undefined;
  readonly gzip?: boolean;
}

/** What happened to the data that is served, as a sentence for the log. */
export interface StoreEvent {
  readonly type: 'data-changed' | 'data-swapped' | 'data-warning' | 'data-fault';
  readonly message: string;
}
export type StoreListener = (event: StoreEvent) => void;

/** One of several databases with the same data. */
export interface HostState {
  readonly name: string;
  readonly up: boolean;
  /** How many seconds its data is older than the newest, by the times of the imports. */
  readonly lag: number;
  readonly writable: boolean;
  /** Of a standby: how many seconds ago the newest change that it shows was made, while it has received more. */
  readonly replayLag: number;
}

/** A user in a list of users. */
export interface UserEntry {
  /** The key of the name, by which users are ordered. */
  readonly key: string;
  /** As it was imported. */
  readonly username: string;
  /** Of the profile. */
  readonly etag: string;
  /** The beginnings of the texts that a list shows. */
  readonly name: string;
  readonly bio: string;
  readonly avatar: string;
}

/** A shot in a list of users. */
export interface ShotEntry {
  /** The key of the user's name. */
  readonly key: string;
  readonly id: string;
  /** The beginning of it. */
  readonly title: string;
  readonly image: string;
  readonly large_image: string;
}

/**
 * The time of a generation, which numbers the states of the data, in seconds since 1970: it is the time of the import in
 * microseconds, and 0 before the first.
 */
export const importTime = (generation: number) => (generation === 0 ? undefined : generation / 1e6);

export interface ListOptions {
  /** The list begins behind the user with this key. */
  readonly after?: string;
  /** In place of `after`: the list goes backwards, from this key on. */
  readonly upTo?: string;
  /** How many users are left out first. */
  readonly skip?: number;
  readonly limit: number;
}

export interface ItemSize {
  readonly id: string;
  /** Of the record. */
  readonly bytes: number;
}

/** Bytes of records in a history, which are read, hashed and parsed for each request. Two of the longest fit. */
export const MOST_BYTES = 128 * 1024;

/** A user with some of their items, newest first, as of one moment. */
export interface History {
  readonly profile: Answer;
  /** Those that fit into MOST_BYTES, with their records as they are served. */
  readonly items: readonly { readonly id: string; readonly record: string }[];
  /** The id of the first one that does not fit. */
  readonly next?: string | undefined;
}

/** A user with the list of their newest items, as of one moment. */
export interface Newest {
  readonly profile: Answer;
  /** The body as it is stored; null if it, or its records, are longer than a history may be. */
  readonly list: Pick<Answer, 'etag' | 'body'>;
  /** Whether there are more items than the list has. */
  readonly hasMore: boolean;
  /** Whether records may name copies of pictures. */
  readonly hasCopies: boolean;
}

/** An item with its user, as of one moment, and the ids of those beside it. */
export interface FoundItem {
  readonly profile: Answer;
  /** As it is served. */
  readonly record: string;
  readonly older?: string | undefined;
  readonly newer?: string | undefined;
}

export interface HistoryOptions {
  /** The id of the item to begin with; the newest one if it is not given. */
  readonly from?: string;
  readonly limit: number;
  /** How many items are left out first. */
  readonly skip?: number;
}

interface SizesOptions extends HistoryOptions {
  /** `newer`: from the item on towards the newest one. */
  readonly side?: 'older' | 'newer';
}

/** The reading side. It cannot write, by construction. */
export interface Reader {
  /** Changes whenever committed data may differ from what was read before. */
  version(): number;
  profile(family: Family, userKey: string, options?: LookupOptions): Awaitable<Answer | undefined>;
  /** The newest items, as an object with one member named `collection`. */
  items(
    family: Family,
    userKey: string,
    collection: string,
    options?: LookupOptions,
  ): Awaitable<Answer | undefined>;
  isTakenDown(family: Family, userKey: string): Awaitable<boolean>;
  /** What the addresses of copies of pictures begin with; undefined when there are none. */
  mediaUrl(): Awaitable<string | undefined>;
  /** What pages need to know of these copies, by their names. Those that could not be measured are left out. */
  pictures(files: readonly string[]): Awaitable<ReadonlyMap<string, CopyFacts>>;
  /** The names of the users with the lowest ids. */
  firstUsers(family: Family, count: number): Awaitable<readonly string[]>;
  /** Users in the order of their keys. */
  users(family: Family, options: ListOptions): Awaitable<readonly UserEntry[]>;
  /** Users with a word in their names that begins with this key, which is not empty; in the order of these words. */
  search(family: Family, key: string, limit: number): Awaitable<readonly UserEntry[]>;
  /** The newest shots of these users, at most so many of each, newest first. */
  newestShots(userKeys: readonly string[], each: number): Awaitable<readonly ShotEntry[]>;
  /** The list is the one that `items` returns for the collection, in the form in which it is stored. */
  newest(family: Family, userKey: string, collection: string): Awaitable<Newest | undefined>;
  item(family: Family, userKey: string, id: string): Awaitable<FoundItem | undefined>;
  /** Items from one of them on, also those that the list of the newest ones leaves out. None if the user has no such item. */
  history(family: Family, userKey: string, options: HistoryOptions): Awaitable<History | undefined>;
  /** The sizes of the records of a history, without reading them. */
  historySizes(family: Family, userKey: string, options: SizesOptions): Awaitable<readonly ItemSize[]>;
  /** How many records there are, as the data keeps it. */
  counts(): Awaitable<Counts>;
  /** When the data was changed last, in seconds since 1970; undefined when nothing was imported yet. */
  lastImport(): number | undefined;
  /** When an import was committed last, also one that changed nothing; undefined when it is not known. */
  lastImportRun(): Awaitable<number | undefined>;
  hosts?(): HostState[];
  /** Why what is served is not the file in its place, as a sentence; undefined when it is. */
  waiting?(): string | undefined;
  /** What the operator should mend although the data can be read, as a sentence. */
  warning?(): string | undefined;
  /** Why the data cannot be read, as a sentence; undefined when it can. */
  fault(): Awaitable<string | undefined>;
  close(): Awaitable<void>;
}
