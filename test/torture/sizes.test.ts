// Memory of commands is flat and CPU linear: another quarter of the cases each day. `npm run torture -- --sizes` takes all.
import { expect, test } from 'vitest';
import { today } from './main.ts';
import { costsOf, faultsOf, leastOf, SIZES } from './sizes.ts';

const PARTS = 4;
const cases = SIZES.filter((_, index) => index % PARTS === today() % PARTS);

test.runIf(process.platform === 'linux').each(cases)('$title', { timeout: 900_000 }, async (size) => {
  const costs = await costsOf(size);
  let faults = faultsOf(costs);
  if (faults.length === 0) return;
  // Once more, since a machine that does something else adds to a figure. It may also hide a peak of memory between two looks, so
  // that the least figures alone would not do: only what each comparison finds is a fault.
  const again = await costsOf(size);
  for (const others of [again, leastOf(costs, again)])
    faults = faults.filter((fault) => faultsOf(others).includes(fault));
  expect(faults, JSON.stringify([costs, again])).toEqual([]);
});
