// A server with 128 MB outlives attacks by hundreds of clients, and good clients are answered meanwhile. Here stand those that
// killed earlier versions; `npm run torture -- --long attack` runs all.

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AttackName } from '../../support/attacks.ts';
import { tempFolder } from '../../support/files.ts';
import { createMemoryGroup, type MemoryGroup, skipWithoutMemoryGroups } from '../../support/memory-group.ts';
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
  'four lists each, reset',
  'pipelines of 1,000 metrics, unread',
  'endless chunks of a byte to the admin port',
  'idle connections',
  'unfinished headers of few bytes',
];

const BUSIEST: readonly AttackName[] = ['eight lists each, all at once', 'four pages each, all at once'];

/** A unix socket takes bytes at once. */
const JUNK: readonly AttackName[] = ['endless bytes from the first on', 'endless bytes behind an upgrade'];

/** How long a good client waits for a response, in seconds; and for all three of its responses, with a minute for the rest. */
const PATIENCE = 70;
const TIMEOUT = (3 * PATIENCE + 60) * 1000;

describe.skipIf(skipWithoutMemoryGroups())('a server with 128 MB', () => {
  test.each(WORST)('%s', { timeout: TIMEOUT }, async (name) => {
    const { fresh, kept, code } = await attackSmallServer(name);
    expect({ fresh, kept, code }).toEqual({ fresh: { 200: 3 }, kept: { 200: 3 }, code: 0 });
  });

  test.each(JUNK)('%s, on a unix socket', { timeout: TIMEOUT }, async (name) => {
    const { fresh, kept, code } = await attackSmallServer(name, 200, join(tempFolder(), 'vitrine.sock'));
    expect({ fresh, kept, code }).toEqual({ fresh: { 200: 3 }, kept: { 200: 3 }, code: 0 });
  });

  test.each(BUSIEST)('%s, by more clients than there are connections', { timeout: TIMEOUT }, async (name) => {
    // Good clients may find no place, but the server lives.
    expect((await attackSmallServer(name, 2000)).code).toBe(0);
  });
});

async function attackSmallServer(name: AttackName, clients?: number, socketPath?: string): Promise<Outcome> {
  const group = createMemoryGroup(128 * 2 ** 20) as MemoryGroup;
  try {
    return await attackServer(name, group, {
      seconds: 1,
      answers: 3,
      patience: PATIENCE,
      ...(clients && { clients }),
      ...(socketPath && { socketPath, env: { HOST: socketPath, TRUST_PROXY: 'loopback' } }),
    });
  } finally {
    group.remove();
  }
}
