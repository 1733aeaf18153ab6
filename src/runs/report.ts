// The progress of a run over the users of a site, and the first of its faults.
import { bar, createDisplay, secondsLeft, type Terminal } from '../files/terminal.ts';

const FAULTS_SHOWN = 20;

export interface VisitProgress {
  readonly users: number;
  readonly totalUsers: number;
  /** Of the users, those whom an earlier, unfinished run has visited. */
  readonly skipped: number;
}

export type VisitReport = ReturnType<typeof createVisitReport>;

/** `doing` says what the run does, such as `visiting`; `noun` names what it counts. */
export function createVisitReport(out: Terminal, doing: string, noun = 'users') {
  const display = createDisplay(out);
  let faults = 0;

  return {
    /** Users of an earlier run count as done, but not for the speed. */
    progress({ users, totalUsers, skipped }: VisitProgress): void {
      display.show((seconds) => {
        const done = users - skipped;
        const left = secondsLeft(done / Math.max(totalUsers - skipped, 1), seconds);
        const speed = (done / Math.max(seconds, 0.001)).toFixed(1);
        return `${doing}  ${bar(users / totalUsers)}  ${users} of ${totalUsers} ${noun}, ${speed}/s, ${left} s left`;
      });
    },

    fault(line: string): void {
      if (++faults > FAULTS_SHOWN) return;
      display.clear();
      out.write(`${line}\n`);
    },

    close(): void {
      display.clear();
      if (faults > FAULTS_SHOWN) out.write(`… and ${faults - FAULTS_SHOWN} more\n`);
    },
  };
}
