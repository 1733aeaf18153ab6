// The summary of a mirror, and why it failed, as text.
import { describeMended, summary } from '../import/report.ts';
import { KIND_NAMES } from '../records/kinds.ts';
import type { MendingCounts } from '../records/mending.ts';
import { counted, countedPart } from '../records/printable.ts';
import type { Tallies } from '../stores/load.ts';
import type { MirrorCounts } from './context.ts';

export interface MirrorResult extends Readonly<MirrorCounts> {
  /** Users that the unfinished run had visited already. */
  readonly skipped: number;
  /** Whether the site knows any of the users. */
  readonly anyoneKnown: boolean;
  /** Why the run ended before the last user; undefined if it did not. */
  readonly stopped: string | undefined;
}

export function newCounts(mended: MendingCounts): MirrorCounts {
  const tally = () => ({ new: 0, changed: 0, unchanged: 0, removed: 0, takenDown: 0 });
  return {
    users: { found: 0, unchanged: 0, unknown: 0, refused: 0, failed: 0, takenDown: 0 },
    tallies: Object.fromEntries(KIND_NAMES.map((kind) => [kind, tally()])) as Tallies,
    pruned: 0,
    mended,
  };
}

/** The counts of users, then the records in the form of an import's summary. */
export function mirrorSummary({ users, tallies, skipped, pruned, mended }: MirrorResult): string {
  const { found, unchanged, unknown, failed, refused, takenDown } = users;
  const counts = [`${found} found`, `${unchanged} unchanged`, `${unknown} unknown`, `${failed} failed`];
  if (refused > 0) counts.push(`${refused} refused`);
  if (takenDown > 0) counts.push(`${takenDown} taken down here`);
  if (skipped > 0) counts.push(`${skipped} already done by the unfinished run`);
  if (pruned > 0) counts.push(`${pruned} removed here`);
  const loaded = Object.values(tallies).some((tally) => Object.values(tally).some((count) => count > 0));
  return [
    `users: ${counts.join(', ')}`,
    ...describeMended(mended),
    ...(loaded ? [summary(tallies)] : []),
  ].join('\n');
}

/** Why a run was not successful; undefined if it was. `unusable` names were in the list. */
export function mirrorFailure(
  { users, stopped, anyoneKnown }: MirrorResult,
  { total, unusable, refusal }: { total: number; unusable: number; refusal: string | undefined },
): string | undefined {
  const reasons: string[] = [];
  if (stopped !== undefined) reasons.push(`${stopped}; the same command continues where this run ended`);
  else if (!anyoneKnown && users.unknown > 0)
    reasons.push('the site knows none of the users it was asked for: check --from and --variant');
  const failed = users.failed + unusable;
  if (failed > 0) reasons.push(`${failed} of ${counted(total, 'user')} failed`);
  if (users.refused > 0)
    reasons.push(
      `${countedPart(users.refused, total, 'user', ['was', 'were'])} refused, because this mirror did not bring what is here: ` +
        'use a second database (--database-url) for another site, or --adopt for users of this site',
    );
  if (refusal !== undefined) reasons.push(refusal);
  return reasons.length === 0 ? undefined : reasons.join('; ');
}
