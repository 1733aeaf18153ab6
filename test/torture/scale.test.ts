// What a small change costs does not depend on how much there is. `npm run torture -- --scales --scale 50` does it with a million users.
import { expect, test } from 'vitest';
import { leastOf, SCALES, scaleCosts, scaleFaults } from './scale.ts';

test.runIf(process.platform === 'linux').each(SCALES)('$title', { timeout: 900_000 }, async (one) => {
  let costs = await scaleCosts(one);
  // Once more if it looks bad: a machine that does something else adds to a figure.
  if (scaleFaults(one, costs).length > 0) costs = leastOf(costs, await scaleCosts(one));
  expect(scaleFaults(one, costs), JSON.stringify(costs)).toEqual([]);
});
