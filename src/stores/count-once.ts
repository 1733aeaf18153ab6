// How many records there are, for the metrics. Counting reads every key, so it is done once for each version of the data.
import { KIND_NAMES } from '../records/kinds.ts';
import type { Counts } from './reader.ts';

const NO_COUNTS = Object.fromEntries(KIND_NAMES.map((kind) => [kind, 0])) as Counts;

/** `count` gives undefined, or fails, when it cannot count now: the last counts stay, and the next call tries again. */
export function countOnce(version: () => number, count: () => Promise<Counts | undefined>) {
  let known = { version: Number.NaN, counts: NO_COUNTS };
  let running: Promise<Counts> | undefined;

  async function run(): Promise<Counts> {
    const counted = version();
    try {
      const counts = await count();
      if (counts !== undefined) known = { version: counted, counts };
    } catch {
      // The last counts are the best there are.
    } finally {
      running = undefined;
    }
    return known.counts;
  }

  return async () => (known.version === version() ? known.counts : (running ??= run()));
}
