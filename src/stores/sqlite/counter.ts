// How many records a file holds, for the metrics.
import { KIND_NAMES } from '../../records/kinds.ts';
import type { Counts } from '../reader.ts';
import { inspectAside } from './inspect.ts';

const NO_COUNTS = Object.fromEntries(KIND_NAMES.map((kind) => [kind, 0])) as Counts;

/** Counting reads every key, so it is done in another thread, and once for each version of the data. */
export function createCounter(path: string, version: () => number): () => Promise<Counts> {
  let known = { version: Number.NaN, counts: NO_COUNTS };
  let running: Promise<Counts> | undefined;

  async function count(): Promise<Counts> {
    const counted = version();
    const { counts = NO_COUNTS } = await inspectAside({ path, want: 'counts' });
    known = { version: counted, counts };
    running = undefined;
    return counts;
  }

  return async () => (known.version === version() ? known.counts : (running ??= count()));
}
