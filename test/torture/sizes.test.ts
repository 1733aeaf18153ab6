// Memory of commands is flat and CPU linear: another third of the cases each day. `npm run torture -- --sizes` takes all.
import { expect, test } from 'vitest';
import { today } from './main.ts';
import { costsOf, faultsOf, leastOf, SIZES } from './sizes.ts';

const PARTS = 3;
const cases = SIZES.filter((_, index) => index % PARTS === today() % PARTS);

test.runIf(process.platform === 'linux').each(cases)('$title', async (size) => {
  let costs = await costsOf(size);
  // Once more if it looks bad: a machine that does something else adds to a figure.
  if (faultsOf(costs).length > 0) costs = leastOf(costs, await costsOf(size));
  expect(faultsOf(costs), JSON.stringify(costs)).toEqual([]);
});
