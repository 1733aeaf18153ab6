// What fetching needs of a store.
import type { Awaitable } from '../stores/store.ts';

/** What became of an original. */
export interface MediaEntry {
  readonly url: string;
  /** The copy; null without one. */
  readonly file: string | null;
  readonly bytes: number;
  /** Why there is no copy. */
  readonly reason: string | null;
}

export interface MediaArchive {
  records(copies?: boolean): Iterable<string> | AsyncIterable<string>;
  media(): Iterable<MediaEntry> | AsyncIterable<MediaEntry>;
  close(): Awaitable<void>;
}

export interface MediaWriter {
  saveMedia(entries: readonly MediaEntry[]): Awaitable<void>;
  relink(mediaUrl: string): Awaitable<number>;
}
