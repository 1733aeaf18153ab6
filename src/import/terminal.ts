// Shows the progress of a command: a bar on a terminal, elsewhere a line every few seconds.

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

const FAULTS_SHOWN = 20;

/**
 * What people see of a long command: its progress, in one line that is redrawn on a terminal and repeated at intervals
 * elsewhere, and the first of its faults.
 */
export function createReport(out: Terminal) {
  const started = performance.now();
  const every = out.isTTY ? REDRAW_MS : LINE_MS;
  let next = started + every;
  let drawn = false;
  let faults = 0;

  /** Removes the bar before something else is written. */
  function clear(): void {
    if (drawn && out.isTTY) out.write('\r\x1b[K');
    drawn = false;
  }

  return {
    /** A `transient` line is shown at once, but only on a terminal. */
    show(describe: (seconds: number) => string, { transient = false } = {}): void {
      if (out.isQuiet) return;
      const time = performance.now();
      if (time < next && !transient) return;
      next = time + every;
      const line = describe((time - started) / 1000);
      if (out.isTTY) out.write(`\r${line.slice(0, (out.columns || 80) - 1)}\x1b[K`);
      else if (!transient) out.write(`${line}\n`);
      drawn = true;
    },
    fault(line: string): void {
      if (++faults > FAULTS_SHOWN) return;
      clear();
      out.write(`${line}\n`);
    },
    [Symbol.dispose](): void {
      clear();
      if (faults > FAULTS_SHOWN) out.write(`… and ${faults - FAULTS_SHOWN} more\n`);
    },
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

export const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
