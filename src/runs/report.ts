// The progress of a run over users, pictures or files, and the first of its faults.
import { bar, createReport, secondsLeft, type Terminal } from '../files/terminal.ts';

interface RunProgress {
  readonly done: number;
  readonly total: number;
  /** Of those that are done, what an earlier, unfinished run did. */
  readonly skipped: number;
}

export type RunReport = ReturnType<typeof createRunReport>;

/** `doing` says what the run does, such as `visiting`; `noun` names what it counts. */
export function createRunReport(out: Terminal, doing: string, noun = 'users') {
  const report = createReport(out);

  /** What an earlier run did does not count for the speed. */
  function progress({ done, total, skipped }: RunProgress): void {
    report.show((seconds) => {
      const now = done - skipped;
      const left = secondsLeft(now / Math.max(total - skipped, 1), seconds);
      const speed = (now / Math.max(seconds, 0.001)).toFixed(1);
      return `${doing}  ${bar(done / total)}  ${done} of ${total} ${noun}, ${speed}/s, ${left} s left`;
    });
  }

  return { ...report, progress };
}
