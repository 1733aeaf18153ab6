// How many records there are. Counting reads every key, so the metrics do it once for each version of the data.
import { KIND_NAMES, KINDS } from '../records/kinds.ts';
import type { Counts } from './reader.ts';

/** Its rows are what `countsFrom` takes. */
export const COUNTS = `
  SELECT 'profile', family, count(*) FROM profiles GROUP BY family
  UNION ALL SELECT 'item', family, count(*) FROM items GROUP BY family`;

export function countsFrom(rows: readonly (readonly unknown[])[]): Counts {
  const counts = new Map(rows.map(([role, family, count]) => [`${role} ${family}`, Number(count)]));
  const entries = KIND_NAMES.map((kind) => {
    const { role, family } = KINDS[kind];
    return [kind, counts.get(`${role} ${family}`) ?? 0];
  });
  return Object.fromEntries(entries) as Counts;
}

/** `count` gives undefined, or fails, when it cannot count now: the last counts stay, and the next call tries again. */
export function countOnce(version: () => number, count: () => Promise<Counts | undefined>) {
  let known = { version: Number.NaN, counts: countsFrom([]) };
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
