// Shows how long a step has taken, and how far it is. It runs in a thread of its own: SQL that takes minutes blocks the thread
// of the command.

import { statSync, writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { StepSize } from '../stores/steps.ts';
import { describeStep, drawn } from './progress-line.ts';

export interface ClockSettings {
  /** A file descriptor. */
  readonly fd: number;
  /** Undefined if it is no terminal. */
  readonly columns: number | undefined;
  /** Milliseconds between two lines. */
  readonly every: number;
  /** The number of the step that the command is in. */
  readonly current: Int32Array;
}

export interface ClockStep extends StepSize {
  readonly number: number;
  readonly name: string;
  /** Milliseconds since the last line. */
  readonly silent: number;
  /** How many there are, and how many there were as the step began. */
  readonly made: Int32Array;
  readonly madeBefore: number;
}

const { fd, columns, every, current }: ClockSettings = workerData;
let step: ClockStep | undefined;
let began = 0;
let next = 0;

parentPort?.on('message', (begun: ClockStep) => {
  step = begun;
  began = performance.now();
  next = began + every - begun.silent;
});

setInterval(
  () => {
    const time = performance.now();
    if (step === undefined || step.number !== current[0] || time < next) return;
    next = time + every;
    try {
      writeSync(fd, drawn(describeStep(step.name, (time - began) / 1000, readShare(step)), columns));
    } catch {
      // Progress that cannot be written is no reason to stop.
    }
  },
  Math.min(every, 500),
);

/** How much of the file, or of the ETags, is there. */
function readShare({ file, bytes = 0, etags = 0, made, madeBefore }: ClockStep): number | undefined {
  if (etags > 0) return Math.min(((made[0] ?? 0) - madeBefore) / etags, 1);
  if (file === undefined || bytes === 0) return undefined;
  return Math.min((statSync(file, { throwIfNoEntry: false })?.size ?? 0) / bytes, 1);
}
