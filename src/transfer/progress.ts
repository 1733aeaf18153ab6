// Shows the progress of an import: a bar on a terminal, elsewhere a line every few seconds.
import { counted } from '../records/counted.ts';
import type { Progress } from './import.ts';

export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Whether progress is not to be shown. */
  readonly isQuiet?: boolean;
  write(text: string): unknown;
}

const BAR_WIDTH = 24;
const REDRAW_MS = 100;
const LINE_MS = 5000;

export type Display = ReturnType<typeof createDisplay>;

/** One line that is redrawn on a terminal, and repeated at intervals elsewhere. */
export function createDisplay(out: Terminal, now = () => performance.now()) {
  const started = now();
  const every = out.isTTY ? REDRAW_MS : LINE_MS;
  let next = started + every;
  let drawn = false;

  return {
    /** A `transient` line is shown at once, but only on a terminal. */
    show(describe: (seconds: number) => string, { transient = false } = {}): void {
      if (out.isQuiet) return;
      const time = now();
      if (time < next && !transient) return;
      next = time + every;
      const line = describe((time - started) / 1000);
      if (out.isTTY) out.write(`\r${line.slice(0, (out.columns || 80) - 1)}\x1b[K`);
      else if (!transient) out.write(`${line}\n`);
      drawn = true;
    },
    /** Removes the bar before something else is written. */
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
      display.show((seconds) => describe(progress, seconds), { transient: progress.phase === 'writing' }),
    clear: display.clear,
  };
}

/** A bar with its percentage. */
export function bar(share: number): string {
  const filled = Math.round(share * BAR_WIDTH);
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${Math.floor(share * 100)}%`;
}

/** An estimate: `seconds` were needed for `share` of the task. */
export const secondsLeft = (share: number, seconds: number) =>
  share > 0 ? Math.ceil((seconds / share) * (1 - share)) : 0;

function describe({ phase, bytes, totalBytes, records }: Progress, seconds: number): string {
  if (phase === 'writing') return `writing ${counted(records, 'record')} …`;
  const speed = `${counted(records, 'record')}, ${Math.round(records / seconds)}/s`;
  if (totalBytes === undefined || totalBytes === 0) return `reading  ${megabytes(bytes)}  ${speed}`;
  const share = Math.min(bytes / totalBytes, 1);
  const size = `${megabytes(bytes)} of ${megabytes(totalBytes)}`;
  return `reading  ${bar(share)}  ${size}  ${speed}, ${secondsLeft(share, seconds)} s left`;
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
