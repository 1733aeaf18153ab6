// A brake on commands that remove what is missing from their input: an incomplete input must not empty a database.
import { StoreError } from './errors.ts';

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

/** Throws if too much is to be removed. `what` says which command removes it. */
export function refuseExcess(what: string, removals: readonly Removal[], limit: RemovalLimit): void {
  const excess = removals.filter(({ removed, of }) =>
    'share' in limit ? removed > of * limit.share : removed > limit.count,
  );
  if (excess.length === 0) return;
  const numbers = excess.map(({ removed, of, plural }) => `${removed} of ${of} ${plural}`).join(' and ');
  const most = 'share' in limit ? `${limit.share * 100}%` : String(limit.count);
  throw new StoreError(
    `${what} would remove ${numbers}, and may remove ${most}: is the input complete? \`--max-removed 100%\` allows it.`,
  );
}
