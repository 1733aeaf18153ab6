// A record that passed every check, with the keys a store finds it by.
import type { KindName } from './kinds.ts';

/** A record that passed every check: its keys, and the JSON text that is served. */
export interface Row {
  readonly kind: KindName;
  readonly id: string;
  /** A profile's user key; empty for an item. */
  readonly userKey: string;
  /** An item's owner and date; empty for a profile. */
  readonly owner: string;
  readonly date: string;
  readonly record: string;
}
