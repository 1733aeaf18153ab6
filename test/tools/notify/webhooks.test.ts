// What a webhook is told. That it is told, and when, is in test/stores/changes.test.ts.
import { expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { createWebhook } from '../../../src/tools/notify/webhooks.ts';
import { startSite } from '../../support/mirror-site.ts';

test.each([
  [1000, 1000],
  [1001, 'many'],
])('of %i changes, a webhook is told %s', async (count, named) => {
  const bodies: Buffer[] = [];
  const { url } = await startSite(async (request, response) => {
    bodies.push(Buffer.concat(await request.toArray()));
    response.end();
  });
  const webhook = createWebhook(new URL(url), readConfig({}), undefined);
  const change = (_: unknown, nr: number) =>
    ({ family: 'portfolio', key: `u${nr}`, username: `u${nr}`, profile: true, list: false }) as const;
  const { signal } = new AbortController();
  const changes = Array.from({ length: count }, change);
  await webhook.deliver({ changes, signal, generation: 2, since: 1, wasReached: true });
  const [told] = bodies.map((body) => JSON.parse(body.toString()));
  expect(told.counts.profiles).toBe(count);
  expect(Array.isArray(told.changes) ? told.changes.length : told.changes).toBe(named);
});
