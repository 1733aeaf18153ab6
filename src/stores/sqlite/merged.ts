// What the merges of profiles and of items have in common: what they are given, what they count, what they look up.
import type { Family } from '../../records/kinds.ts';
import type { Marks } from '../marks.ts';
import { idKey, type Pile } from '../staging.ts';
import type { Misfit } from '../store.ts';
import type { Connection } from './sqlite.ts';

export interface Merge {
  readonly db: Connection;
  readonly pile: Pile;
  /** The families of which the files are the whole. */
  readonly replaced: readonly Family[];
  /** The numbers of the rows that are to be passed over. */
  readonly leftOut: Marks;
  readonly misfit: (misfit: Misfit) => void;
}

export interface Merged {
  /** How many rows there were, of them with an id that was known, written, and how many old ones went. */
  landed: number;
  known: number;
  written: number;
  removed: number;
}
export type MergedByFamily = Record<Family, Merged>;

export const nothingYet = (): MergedByFamily => ({
  microblog: { landed: 0, known: 0, written: 0, removed: 0 },
  portfolio: { landed: 0, known: 0, written: 0, removed: 0 },
});

/** Above the largest id there is nothing to look up. */
export function largestIds(db: Connection, table: 'profiles' | 'item_keys'): Record<Family, number | bigint> {
  const largest = db
    .prepare(`SELECT coalesce(max(id), 0) FROM ${table} WHERE family = ?`)
    .pluck()
    .safeIntegers();
  return { microblog: largest.get('microblog') as bigint, portfolio: largest.get('portfolio') as bigint };
}

const IDS_AT_ONCE = 1000;

/** Drops what is there and not among the staged; how many that were. */
export function dropOthers(
  db: Connection,
  table: 'profiles' | 'item_keys',
  family: Family,
  pile: Pile,
  leftOut: Marks,
  drop: (id: bigint) => void,
): number {
  const next = db
    .prepare(`SELECT id FROM ${table} WHERE family = ? AND id > ? ORDER BY id LIMIT ${IDS_AT_ONCE}`)
    .pluck()
    .safeIntegers();
  const staged = pile.ids
    .entries()
    .filter((entry) => idKey.family(entry) === family && !leftOut.has(idKey.number(entry)));
  let candidate = staged.next();
  let dropped = 0;
  let seen = 0n;
  for (;;) {
    const ids = next.all(family, seen) as bigint[];
    for (const id of ids) {
      while (!candidate.done && idKey.id(candidate.value) < id) candidate = staged.next();
      // biome-ignore lint/suspicious/noDoubleEquals: a number and a big integer may be the same id
      if (!candidate.done && idKey.id(candidate.value) == id) continue;
      drop(id);
      dropped++;
    }
    if (ids.length < IDS_AT_ONCE) return dropped;
    seen = ids.at(-1) as bigint;
  }
}
