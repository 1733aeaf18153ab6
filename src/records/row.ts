// A normalised record with the keys under which a store keeps it.
import type { KindName } from './kinds.ts';

export interface Row {
  readonly kind: KindName;
  readonly id: string;
  /** Empty for an item. */
  readonly userKey: string;
  /** Empty for a profile, like the date. */
  readonly owner: string;
  readonly date: string;
  /** The JSON text that is served. */
  readonly record: string;
}
