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

export function createProgress(out: Terminal, now = () => performance.now()) {
  const started = now();
  const every = out.isTTY ? REDRAW_MS : LINE_MS;
  let next = started + every;
  let drawn = false;

  return {
    show(progress: Progress): void {
      const time = now();
      if (time < next && progress.phase === 'reading') return;
      next = time + every;
      const line = describe(progress, (time - started) / 1000);
      if (out.isTTY) out.write(`\r${line.slice(0, (out.columns ?? 80) - 1)}\x1b[K`);
      else if (progress.phase === 'reading') out.write(`${line}\n`);
      drawn = true;
    },
    /** Takes the bar away before anything else is written. */
    clear(): void {
      if (drawn && out.isTTY) out.write('\r\x1b[K');
      drawn = false;
    },
  };
}

function describe({ phase, bytes, totalBytes, records }: Progress, seconds: number): string {
  if (phase === 'writing') return `writing ${records} records …`;
  const speed = `${records} records, ${Math.round(records / seconds)}/s`;
  if (totalBytes === undefined || totalBytes === 0) return `reading  ${megabytes(bytes)}  ${speed}`;
  const share = Math.min(bytes / totalBytes, 1);
  const filled = Math.round(share * BAR_WIDTH);
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
  const left = share > 0 ? Math.ceil((seconds / share) * (1 - share)) : 0;
  return `reading  ${bar} ${Math.floor(share * 100)}%  ${megabytes(bytes)} of ${megabytes(totalBytes)}  ${speed}, ${left} s left`;
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
