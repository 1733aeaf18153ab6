// Shows the progress of a long command, such as an import, a mirror or a takedown: a bar on a terminal, elsewhere a line
// every few seconds.

import { Worker } from 'node:worker_threads';
import { madeEtags, type StepListener, type StepSize } from '../stores/steps.ts';
import { describeStep, drawn } from './progress-line.js';

export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Its file descriptor, if it has one. */
  readonly fd?: number;
  /** Whether progress is not to be shown. */
  readonly isQuiet?: boolean;
  /** Where progress is shown, if not here. */
  readonly progress?: Terminal;
  write(text: string): unknown;
}

const REDRAW_MS = 100;
const LINE_MS = 10_000;

const FAULTS_SHOWN = 20;

/**
 * What people see of a long command: its progress, in one line that is redrawn on a terminal and repeated at intervals
 * elsewhere, and the first of its faults.
 */
export function createReport(out: Terminal, { now = () => performance.now(), lineMs = LINE_MS } = {}) {
  const screen = out.progress ?? out;
  const isQuiet = out.isQuiet || screen.isQuiet;
  const started = now();
  const every = screen.isTTY ? REDRAW_MS : lineMs;
  let last = started;
  let isDrawn = false;
  let faults = 0;
  const clock = createClock(screen, screen.isTTY ? TICK_MS : lineMs);

  /** Removes the bar before something else is written. */
  function clear(): void {
    if (isDrawn && screen.isTTY) screen.write('\r\x1b[K');
    isDrawn = false;
  }

  function draw(line: string): void {
    last = now();
    screen.write(drawn(line, columnsOf(screen)));
    isDrawn = true;
  }

  return {
    show(describe: (seconds: number) => string): void {
      if (isQuiet || now() - last < every) return;
      clock.endStep();
      draw(describe((now() - started) / 1000));
    },
    /** A step begins that may block the process. Off a terminal it is shown when it takes long, or comes late. */
    step(name: string, size: StepSize = {}): void {
      if (isQuiet) return;
      const silent = now() - last;
      if (screen.isTTY || silent >= every) draw(describeStep(name, 0));
      const takesLong = (size.bytes ?? 0) >= LARGE || now() - started >= SOON_MS;
      clock.beginStep({ ...size, name, silent: now() - last }, takesLong);
    },
    fault(line: string): void {
      if (++faults > FAULTS_SHOWN) return;
      clear();
      out.write(`${line}\n`);
    },
    [Symbol.dispose](): void {
      clock.end();
      clear();
      if (faults > FAULTS_SHOWN) out.write(`… and ${faults - FAULTS_SHOWN} more\n`);
    },
  };
}

/** Shows the steps of an action. */
export async function showSteps<T>(
  out: Terminal,
  action: (onStep: StepListener) => T | Promise<T>,
): Promise<T> {
  using report = createReport(out);
  return await action(report.step);
}

// A thread takes 45 ms of CPU and 10 MB of memory: commands that will end soon do without.
const LARGE = 50e6;
const SOON_MS = 1000;
/** A terminal shows the seconds. */
const TICK_MS = 1000;

interface ClockSettings {
  /** A file descriptor. */
  readonly fd: number;
  /** Undefined if it is no terminal. */
  readonly columns: number | undefined;
  /** Milliseconds between two lines. */
  readonly every: number;
  /** The number of the step that the command is in. */
  readonly current: Int32Array;
}

interface ClockStep extends StepSize {
  readonly number: number;
  readonly name: string;
  /** Milliseconds since the last line. */
  readonly silent: number;
  /** Milliseconds since the step began. */
  readonly age: number;
  /** How many there are, and how many there were as the step began. */
  readonly made: Int32Array;
  readonly madeBefore: number;
}

function createClock(screen: Terminal, every: number) {
  const current = new Int32Array(new SharedArrayBuffer(4));
  let thread: Worker | undefined;
  let later: NodeJS.Timeout | undefined;

  function start(fd: number): Worker {
    const settings: ClockSettings = {
      fd,
      columns: columnsOf(screen),
      every,
      current,
    };
    const file = new URL('./step-clock.js', import.meta.url);
    const limits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 };
    const worker = new Worker(file, { workerData: settings, resourceLimits: limits });
    // A command without a clock does the same.
    worker.on('error', () => {});
    worker.unref();
    return worker;
  }

  /** Nothing more is shown of it. */
  function endStep(): void {
    clearTimeout(later);
    Atomics.add(current, 0, 1);
  }

  function show(step: ClockStep): void {
    if (screen.fd !== undefined) thread ??= start(screen.fd);
    thread?.postMessage(step);
  }

  return {
    endStep,
    beginStep(step: Pick<ClockStep, 'name' | 'silent'> & StepSize, takesLong: boolean): void {
      endStep();
      const [number = 0] = current;
      const [madeBefore = 0] = madeEtags;
      const begun: ClockStep = { ...step, number, made: madeEtags, madeBefore, age: 0 };
      if (takesLong || thread !== undefined) return show(begun);
      // A step that waits for others, and does not block the process, takes long after all.
      const wait = () => show({ ...begun, silent: step.silent + SOON_MS, age: SOON_MS });
      later = setTimeout(wait, SOON_MS).unref();
    },
    end(): void {
      endStep();
      void thread?.terminate();
    },
  };
}

const columnsOf = ({ isTTY, columns }: Terminal) => (isTTY ? columns || 80 : undefined);

export const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
