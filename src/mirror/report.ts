// What a mirror has come to, for programs and for people, and why it failed.
import { describeMended, summary } from '../import/report.ts';
import { KIND_NAMES } from '../records/kinds.ts';
import { counted, countedPart, joinReasons } from '../records/printable.ts';
import type { Tallies } from '../stores/load.ts';
import type { Mirror } from './context.ts';

const COUNTS = ['found', 'unchanged', 'unknown', 'refused', 'failed', 'takenDown', 'pruned'] as const;
export const newCounts = () => Object.fromEntries(COUNTS.map((name) => [name, 0])) as Mirror['counts'];

const newTally = () => ({ new: 0, changed: 0, unchanged: 0, removed: 0, takenDown: 0 });
export const newTallies = () => Object.fromEntries(KIND_NAMES.map((kind) => [kind, newTally()])) as Tallies;

/** `total` counts all names, `invalid` those that no user can have. `refusal` says why no user was pruned. */
export function describeMirror(
  { counts, tallies, mender, run, memory }: Mirror,
  { total, invalid, refusal }: { total: number; invalid: number; refusal: string | undefined },
) {
  const [skipped, stopped] = [run.skipped(), run.stopped()];
  const { found, unchanged, unknown, refused, takenDown, pruned } = counts;
  const numbers: [number, string][] = [
    [refused, 'refused'],
    [takenDown, 'taken down here'],
    [skipped, 'already done by the unfinished run'],
    [pruned, 'removed here'],
  ];
  const more = numbers.filter(([count]) => count > 0).map(([count, what]) => `, ${count} ${what}`);
  const users = `users: ${found} found, ${unchanged} unchanged, ${unknown} unknown, ${counts.failed} failed`;
  const isLoaded = Object.values(tallies).some((tally) => Object.values(tally).some((count) => count > 0));
  const failed = counts.failed + invalid;
  return {
    summary: [
      users + more.join(''),
      ...describeMended(mender.counts),
      ...(isLoaded ? [summary(tallies)] : []),
    ].join('\n'),
    result: { users: { ...counts, skipped }, tallies, mended: mender.counts },
    failure: joinReasons(
      stopped !== undefined && `${stopped}; the same command continues where this run ended`,
      stopped === undefined &&
        unknown > 0 &&
        refused === 0 &&
        !memory.isAnyUserKnown() &&
        'the site knows none of the users it was asked for: check --from and --variant',
      failed > 0 && `${failed} of ${counted(total, 'user')} failed`,
      refused > 0 &&
        `${countedPart(refused, total, 'user', ['was', 'were'])} refused, because this mirror did not import what is here: ` +
          'use a second database (--database-url) for another site, or --adopt for users of this site',
      refusal,
    ),
    /** Whether the run came to its end and has copied a user. */
    isComplete: stopped === undefined && found + unchanged + skipped > 0,
  };
}
