// Shows how long a step has taken, and how far it is. It runs in a thread of its own: SQL that takes minutes blocks the thread
// of the command. terminal.ts has the types of what it is given.

import { statSync, writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { describeStep, drawn } from './progress-line.js';

const { fd, columns, every, current } = workerData;
let step;
let began = 0;
let next = 0;

parentPort.on('message', (begun) => {
  step = begun;
  began = performance.now() - begun.age;
  next = performance.now() + every - begun.silent;
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
function readShare({ file, bytes = 0, etags = 0, made, madeBefore }) {
  if (etags > 0) return Math.min((made[0] - madeBefore) / etags, 1);
  if (file === undefined || bytes === 0) return undefined;
  return Math.min((statSync(file, { throwIfNoEntry: false })?.size ?? 0) / bytes, 1);
}
