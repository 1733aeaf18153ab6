// How far an import is: a bar on a terminal, a plain line now and then elsewhere.
import type { Progress } from './import.ts';

export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const BAR_WIDTH = 24;
const REDRAW_MS = 100;
const LINE_MS = 5000;

export type Display = ReturnType<typeof createDisplay>;

/** The one line that is drawn again and again on a terminal; elsewhere it is written now and then. */
export function createDisplay(out: Terminal, now = () => performance.now()) {
  const started = now();
  const every = out.isTTY ? REDRAW_MS : LINE_MS;
  let next = started + every;
  let drawn = false;

  return {
    /** `passing`: worth a look while it lasts, but not a line of its own. */
    show(describe: (seconds: number) => string, { passing = false } = {}): void {
      const time = now();
      if (time < next && !passing) return;
      next = time + every;
      const line = describe((time - started) / 1000);
      if (out.isTTY) out.write(`\r${line.slice(0, (out.columns || 80) - 1)}\x1b[K`);
      else if (!passing) out.write(`${line}\n`);
      drawn = true;
    },
    /** Takes the bar away before anything else is written. */
    clear(): void {
      if (drawn && out.isTTY) out.write('\r\x1b[K');
      drawn = false;
    },
  };
}

export function createProgress(out: Terminal) {
  const display = createDisplay(out);
  return {
    show: (progress: Progress) =>
      display.show((seconds) => describe(progress, seconds), { passing: progress.phase === 'writing' }),
    clear: display.clear,
  };
}

/** A bar with its percentage. */
export function bar(share: number): string {
  const filled = Math.round(share * BAR_WIDTH);
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${Math.floor(share * 100)}%`;
}

/** The seconds that are left when so much of a task took so long. */
export const secondsLeft = (share: number, seconds: number) =>
  share > 0 ? Math.ceil((seconds / share) * (1 - share)) : 0;

function describe({ phase, bytes, totalBytes, records }: Progress, seconds: number): string {
  if (phase === 'writing') return `writing ${records} records …`;
  const speed = `${records} records, ${Math.round(records / seconds)}/s`;
  if (totalBytes === undefined || totalBytes === 0) return `reading  ${megabytes(bytes)}  ${speed}`;
  const share = Math.min(bytes / totalBytes, 1);
  const size = `${megabytes(bytes)} of ${megabytes(totalBytes)}`;
  return `reading  ${bar(share)}  ${size}  ${speed}, ${secondsLeft(share, seconds)} s left`;
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
