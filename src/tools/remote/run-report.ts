// How far a run over many tasks has come, on standard error: apart from the run, so that an export loads no client.
import { bar, createReport, secondsLeft, type Terminal } from '../../import/terminal.ts';

export type RunReport = ReturnType<typeof createRunReport>;

/** `doing` says what the run does, such as `visiting`; `noun` names what it counts. */
export function createRunReport(out: Terminal, doing: string, noun = 'users') {
  const report = createReport(out);

  function progress(done: number, total: number): void {
    report.show((seconds) => {
      const left = secondsLeft(done / total, seconds);
      const speed = (done / Math.max(seconds, 0.001)).toFixed(1);
      return `${doing}  ${bar(done / total)}  ${done} of ${total} ${noun}, ${speed}/s, ${left} s left`;
    });
  }

  return { ...report, progress };
}
