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

/** While `count` fails, the last counts stay, and the next call tries again. */
export function countOnce(version: () => number, count: () => Promise<Counts | undefined>) {
  let counted = Number.NaN;
  let counts = Promise.resolve(countsFrom([]));

  return () => {
    if (counted === version()) return counts;
    counted = version();
    const before = counts;
    counts = count()
      .then((found) => found ?? Promise.reject())
      .catch(() => {
        counted = Number.NaN;
        return before;
      });
    return counts;
  };
}
