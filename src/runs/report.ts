// The progress of a run over users, pictures or files, and the first of its faults.
import { bar, createDisplay, secondsLeft, type Terminal } from '../files/terminal.ts';

const FAULTS_SHOWN = 20;

export interface RunProgress {
  readonly done: number;
  readonly total: number;
  /** Of those that are done, what an earlier, unfinished run did. */
  readonly skipped: number;
}

export type RunReport = ReturnType<typeof createRunReport>;

/** `doing` says what the run does, such as `visiting`; `noun` names what it counts. */
export function createRunReport(out: Terminal, doing: string, noun = 'users') {
  const display = createDisplay(out);
  let faults = 0;

  return {
    /** What an earlier run did does not count for the speed. */
    progress({ done, total, skipped }: RunProgress): void {
      display.show((seconds) => {
        const now = done - skipped;
        const left = secondsLeft(now / Math.max(total - skipped, 1), seconds);
        const speed = (now / Math.max(seconds, 0.001)).toFixed(1);
        return `${doing}  ${bar(done / total)}  ${done} of ${total} ${noun}, ${speed}/s, ${left} s left`;
      });
    },

    fault(line: string): void {
      if (++faults > FAULTS_SHOWN) return;
      display.clear();
      out.write(`${line}\n`);
    },

    [Symbol.dispose](): void {
      display.clear();
      if (faults > FAULTS_SHOWN) out.write(`… and ${faults - FAULTS_SHOWN} more\n`);
    },
  };
}
