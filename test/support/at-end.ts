// What a test file has started ends with its tests.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { removeTempFolders } from './files.ts';

const running = new Set<ChildProcess>();
const stopping = new Set<() => unknown>();

/** Runs this when the tests of the file are over. */
export const atEnd = (stop: () => unknown) => void stopping.add(stop);

/** Ends what a test file has started, and removes its folder. */
export async function cleanUp(): Promise<void> {
  const ends = [...running].map((child) => once(child, 'close'));
  for (const child of running) child.kill('SIGKILL');
  await Promise.all([...ends, ...[...stopping].map((stop) => stop())]);
  stopping.clear();
  removeTempFolders();
}

// A run that is interrupted has no time for hooks. Vitest does not let a test exit by itself.
for (const event of ['exit', 'SIGTERM', 'SIGINT', 'disconnect'] as const)
  process.once(event, () => {
    for (const child of running) child.kill('SIGKILL');
    if (event !== 'exit') process.kill(process.pid, 'SIGKILL');
  });

/** A process that is killed, at the latest, when the tests of the file are over. */
export function endWithTests<Child extends ChildProcess>(child: Child): Child {
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}
