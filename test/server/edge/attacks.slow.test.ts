// A server with 128 MB outlives attacks by hundreds of clients, and good clients are answered meanwhile. Here stand those that
// killed earlier versions; `npm run torture -- --long attack` runs all.

import { expect, test } from 'vitest';
import type { AttackName } from '../../support/attacks.ts';
import { createMemoryGroup } from '../../support/memory-group.ts';
import { attackServer, type Outcome } from '../../support/under-attack.ts';

const WORST: readonly AttackName[] = [
  'endless chunks of a byte',
  'an endless body behind a refused POST',
  'endless bytes behind a last response',
  'pipelines of 1,000 lists, unread',
  'endless requests with headers of 8,000 bytes',
  'four lists each, all at once, unread',
  'eight lists each, all at once',
  'four pages each, all at once',
  'idle connections',
];

test.each(WORST)('%s', async (name) => {
  const outcome = await attackSmallServer(name);
  if (outcome === undefined) return;
  const { fresh, kept, code } = outcome;
  expect({ fresh, kept, code }).toEqual({ fresh: { 200: 3 }, kept: { 200: 3 }, code: 0 });
});

const BUSIEST: readonly AttackName[] = ['eight lists each, all at once', 'four pages each, all at once'];

test.each(BUSIEST)('%s, by more clients than there are connections', async (name) => {
  const outcome = await attackSmallServer(name, 2000);
  // Good clients may find no place, but the server lives.
  expect(outcome?.code ?? 0).toBe(0);
});

async function attackSmallServer(name: AttackName, clients?: number): Promise<Outcome | undefined> {
  const group = createMemoryGroup(128 * 2 ** 20);
  if (group === undefined)
    return void console.warn(
      'SKIPPED: only root can limit the memory of processes, where the system lets it',
    );
  try {
    return await attackServer(name, group, {
      seconds: 1,
      answers: 3,
      patience: 20,
      ...(clients && { clients }),
    });
  } finally {
    group.remove();
  }
}
