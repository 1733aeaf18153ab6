// Shows the progress of a long command, such as an import, a mirror or a takedown: a bar on a terminal, elsewhere a line
// every few seconds.

import type { StepListener } from '../stores/steps.ts';

export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Whether progress is not to be shown. */
  readonly isQuiet?: boolean;
  /** Where progress is shown, if not here. */
  readonly progress?: Terminal;
  write(text: string): unknown;
}

const REDRAW_MS = 100;
/** A step that says nothing is drawn again on a terminal, which shows how long it has taken. */
const TICK_MS = 1000;
const LINE_MS = 10_000;

const FAULTS_SHOWN = 20;

export type Report = ReturnType<typeof createReport>;

/**
 * What people see of a long command: its progress, in one line that is redrawn on a terminal and repeated at intervals
 * elsewhere, and the first of its faults.
 */
export function createReport(out: Terminal, { now = () => performance.now(), lineMs = LINE_MS } = {}) {
  const screen = out.progress ?? out;
  const isQuiet = out.isQuiet || screen.isQuiet;
  const every = screen.isTTY ? REDRAW_MS : lineMs;
  let last = now();
  let isDrawn = false;
  let faults = 0;
  let step: Step | undefined;
  // A step may wait for others, such as the server of a database, and say nothing meanwhile.
  const ticks = setInterval(() => drawStep(screen.isTTY ? TICK_MS : lineMs), TICK_MS).unref();

  /** Removes the bar before something else is written. */
  function clear(): void {
    if (isDrawn && screen.isTTY) screen.write('\r\x1b[K');
    isDrawn = false;
  }

  function draw(line: string): void {
    last = now();
    screen.write(screen.isTTY ? `\r${line.slice(0, (screen.columns || 80) - 1)}\x1b[K` : `${line}\n`);
    isDrawn = true;
  }

  function drawStep(silentMs: number): void {
    if (step !== undefined && now() - last >= silentMs) draw(describeStep(step, (now() - step.began) / 1000));
  }

  return {
    /** A step begins or goes on. A terminal shows each as it begins. `describe` says more of it, after these seconds. */
    step(name: string, share?: number, describe?: (seconds: number) => string): void {
      if (isQuiet) return;
      const isNew = step?.name !== name;
      const began = step === undefined || isNew ? now() : step.began;
      step = { name, share, describe, began };
      drawStep(isNew && screen.isTTY ? 0 : every);
    },
    fault(line: string): void {
      if (++faults > FAULTS_SHOWN) return;
      clear();
      out.write(`${line}\n`);
    },
    [Symbol.dispose](): void {
      clearInterval(ticks);
      clear();
      if (faults > FAULTS_SHOWN) out.write(`… and ${faults - FAULTS_SHOWN} more\n`);
    },
  };
}

interface Step {
  readonly name: string;
  readonly share: number | undefined;
  readonly describe: ((seconds: number) => string) | undefined;
  /** When it began. */
  readonly began: number;
}

/** Shows the steps of an action. */
export async function showSteps<T>(
  out: Terminal,
  action: (onStep: StepListener) => T | Promise<T>,
): Promise<T> {
  using report = createReport(out);
  return await action(report.step);
}

function describeStep({ name, share = 0, describe }: Step, seconds: number): string {
  const time = seconds < 1 ? ' …' : `, ${Math.floor(seconds)} s`;
  const rest = describe === undefined ? time : `  ${describe(seconds)}`;
  return share === 0 ? name + rest : `${name}  ${bar(share)}${rest}, ${secondsLeft(share, seconds)} s left`;
}

/** Describes a step that counts, such as users. */
export const describeCount = (done: number, total: number, noun: string) => (seconds: number) =>
  `${done} of ${total} ${noun}, ${(done / Math.max(seconds, 1)).toFixed(1)}/s`;

const BAR_WIDTH = 24;

/** A bar with its percentage. */
function bar(share: number): string {
  const filled = Math.round(share * BAR_WIDTH);
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${Math.floor(share * 100)}%`;
}

/** An estimate: `seconds` were needed for `share` of the task. */
const secondsLeft = (share: number, seconds: number) =>
  share > 0 ? Math.ceil((seconds / share) * (1 - share)) : 0;

export const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
