// How far a mirror is, what went wrong on the way, and what came of it, in words.
import { summary } from '../transfer/import.ts';
import { bar, createDisplay, secondsLeft, type Terminal } from '../transfer/progress.ts';
import type { MirrorProgress, MirrorResult } from './mirror.ts';

const TROUBLES_SHOWN = 20;

export function createMirrorReport(out: Terminal) {
  const display = createDisplay(out);
  let troubles = 0;
  let before = 0;

  return {
    /** Users whom an earlier run had done count as done, but not as speed. */
    progress({ users, totalUsers, skipped }: MirrorProgress): void {
      display.show((seconds) => {
        const done = users - skipped;
        const left = secondsLeft(done / Math.max(totalUsers - skipped, 1), seconds);
        return `asking  ${bar(users / totalUsers)}  ${users} of ${totalUsers} users, ${rate(done, seconds)}/s, ${left} s left`;
      });
    },

    trouble(line: string): void {
      if (++troubles > TROUBLES_SHOWN) return;
      before = troubles;
      display.clear();
      out.write(`${line}\n`);
    },

    close(): void {
      display.clear();
      if (troubles > before) out.write(`… and ${troubles - before} more\n`);
      before = troubles;
    },
  };
}

const rate = (done: number, seconds: number) => (done / Math.max(seconds, 0.001)).toFixed(1);

/** The users, and then the records as an import tells them. */
export function mirrorSummary({ counts, tallies, skipped, pruned }: MirrorResult): string {
  const { found, unchanged, unknown, failed } = counts;
  const more = [
    ...(skipped > 0 ? [`${skipped} done by the run before, which was not finished`] : []),
    ...(pruned > 0 ? [`${pruned} removed here`] : []),
  ];
  const users = [
    `${found} found`,
    `${unchanged} unchanged`,
    `${unknown} unknown`,
    `${failed} failed`,
    ...more,
  ];
  const records = Object.values(tallies).some((tally) => Object.values(tally).some((count) => count > 0));
  return `users: ${users.join(', ')}${records ? `\n${summary(tallies)}` : ''}`;
}
