// One import, from its first row to its outcome.

import type { KindName } from '../../records/kinds.ts';
import type { Row } from '../../records/normalise.ts';
import { StoreError } from '../errors.ts';
import type { Awaitable } from '../reader.ts';
import type { StepListener } from '../steps.ts';

export interface LoadOptions {
  /** The loaded records replace everything of the families they belong to. */
  readonly replace: boolean;
  /** How much of a kind of record a replacement may remove. Without it: everything. */
  readonly maxRemoved?: RemovalLimit | undefined;
  /** Misfits are left out; otherwise one misfit refuses the whole load. */
  readonly skipInvalid: boolean;
  /** Called with each row that is valid by itself but does not fit the rest. */
  readonly onMisfit: (misfit: Misfit) => Awaitable<void>;
  /** Called with the name of each step of `finish`. */
  readonly onStep?: StepListener | undefined;
  /** Called before the load is committed, which it stops by an error. */
  readonly beforeCommit?: () => void;
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

/** How a load ends: `commit` makes it visible; `try` finds out what it would change and keeps nothing. */
export type LoadOutcome = 'commit' | 'try';

/** One import. Nothing is visible before `finish` has committed everything. */
export interface Load {
  /** `place` tells where the row came from and never decreases; of two rows with one id the later wins. */
  add(row: Row, place: number): Awaitable<void>;
  /** The tallies; undefined when the load was refused for misfits. */
  finish(ending?: LoadOutcome): Awaitable<Tallies | undefined>;
  abandon(): Awaitable<void>;
}

// A brake on commands that remove what is missing from their input: an incomplete input must not empty a database.

/** The most that may be removed of the records of one kind: a share of them, or a number. */
export type RemovalLimit = { readonly share: number } | { readonly count: number };

export const USUAL_LIMIT: RemovalLimit = { share: 0.2 };

export interface Removal {
  readonly removed: number;
  /** How many there were before. */
  readonly of: number;
  /** What they are, such as `posts`. */
  readonly plural: string;
}

/** What each option removes. */
const REMOVERS = {
  '--replace': 'It removes what is not in the files of this import, so all files belong into one import.',
  '--prune': 'It removes users that the site does not know.',
};

/** Throws if too much is to be removed. */
export function refuseExcess(
  option: keyof typeof REMOVERS,
  removals: readonly Removal[],
  limit: RemovalLimit,
): void {
  const excess = removals.filter(({ removed, of }) =>
    'share' in limit ? removed > of * limit.share : removed > limit.count,
  );
  if (excess.length === 0) return;
  const numbers = excess.map(({ removed, of, plural }) => `${removed} of ${of} ${plural}`).join(' and ');
  const most = 'share' in limit ? `${limit.share * 100}%` : String(limit.count);
  throw new StoreError(
    `${option} would remove ${numbers}, and may remove ${most}. ${REMOVERS[option]} \`--max-removed 100%\` removes them nevertheless.`,
  );
}
