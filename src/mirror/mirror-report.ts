// The summary of a mirror, and why it failed, as text.

import { summary } from '../import/report.ts';
import { counted, countedOf } from '../records/counted.ts';
import type { MirrorResult } from './mirror-users.ts';

/** The counts of users, then the records in the form of an import's summary. */
export function mirrorSummary({ counts, tallies, skipped, pruned }: MirrorResult): string {
  const { found, unchanged, unknown, failed, refused, takenDown } = counts;
  const users = [`${found} found`, `${unchanged} unchanged`, `${unknown} unknown`, `${failed} failed`];
  if (refused > 0) users.push(`${refused} refused`);
  if (takenDown > 0) users.push(`${takenDown} taken down here`);
  if (skipped > 0) users.push(`${skipped} already done by the unfinished run`);
  if (pruned > 0) users.push(`${pruned} removed here`);
  const loaded = Object.values(tallies).some((tally) => Object.values(tally).some((count) => count > 0));
  return `users: ${users.join(', ')}${loaded ? `\n${summary(tallies)}` : ''}`;
}

/** Why a run was not successful; undefined if it was. `unusable` names were in the list. */
export function mirrorFailure(
  { counts, stopped, anyoneKnown }: MirrorResult,
  { total, unusable }: { total: number; unusable: number },
): string | undefined {
  const reasons: string[] = [];
  if (stopped !== undefined) reasons.push(`${stopped}; the same command continues where this run ended`);
  else if (!anyoneKnown && counts.unknown > 0)
    reasons.push('the site knows none of the users it was asked for: check --from and --variant');
  const failed = counts.failed + unusable;
  if (failed > 0) reasons.push(`${failed} of ${counted(total, 'user')} failed`);
  if (counts.refused > 0)
    reasons.push(
      `${countedOf(counts.refused, total, 'user', ['was', 'were'])} refused, because this mirror did not bring what is here: ` +
        'use a second database (--database-url) for another site, or --adopt for users of this site',
    );
  return reasons.length === 0 ? undefined : reasons.join('; ');
}
