// A server with 128 MB outlives attacks by hundreds of clients, and good clients are answered meanwhile. Here stand those that
// killed earlier versions; `npm run torture -- --long attack` runs all.

import { expect, test } from 'vitest';
import type { AttackName } from '../../support/attacks.ts';
import { createMemoryGroup } from '../../support/memory-group.ts';
import { attackServer } from '../../support/under-attack.ts';

const WORST: readonly AttackName[] = [
  'endless chunks of a byte',
  'an endless body behind a refused POST',
  'endless bytes behind a last response',
  'pipelines of 1,000 lists, unread',
  'endless requests with headers of 8,000 bytes',
  'four lists each, all at once, unread',
  'eight lists each, all at once',
  'idle connections',
];

test.each(WORST)('%s', async (name) => {
  const group = createMemoryGroup(128 * 2 ** 20);
  if (group === undefined)
    return console.warn('SKIPPED: only root can limit the memory of processes, where the system lets it');
  try {
    const { fresh, kept, code } = await attackServer(name, group, { seconds: 1, answers: 3, patience: 20 });
    expect([fresh, kept, code]).toEqual([{ 200: 3 }, { 200: 3 }, 0]);
  } finally {
    group.remove();
  }
});
