// What the first view of each page costs: requests, bytes and layout shift are held.
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { describeInBrowser, watchCosts } from '../support/browser.ts';
import { databaseOf } from '../support/database.ts';
import { ndjson, tempFile } from '../support/files.ts';
import { serveHere } from '../support/serve-here.ts';
import type { LocalServer } from '../support/server.ts';

const MAX_SHIFT = 0.02;
const WIDTHS = [320, 768, 1440];

const OWN_RECORDS = [{ id: '3', username: 'first', name: 'The First', totalShots: '0' }];

/** Each page: what it may cost in requests and KB, how much it may shift, and what shows that it is drawn. */
const PAGES = [
  { path: '/', requests: 20, kilobytes: 45, shift: 0.02, drawn: '#profile:not([aria-busy]) h1' },
  { path: '/people/b/ada', requests: 20, kilobytes: 45, shift: 0.02, drawn: 'h1' },
  { path: '/docs', requests: 4, kilobytes: 26, shift: 0.02, drawn: '.operation .copy' },
];

/** A phone's connection and processor. */
const SLOW = { latency: 150, kilobits: 1600, slowdown: 4 };

/** Loads the address without a cache and waits until nothing more is requested. */
async function firstView(page: Page, address: string, drawn: string, isSlow: boolean) {
  const costs = await watchCosts(page, isSlow ? SLOW : undefined);
  await page.goto(address, { waitUntil: 'networkidle' });
  await page.locator(drawn).first().waitFor();
  return { ...costs, shift: await costs.shift() };
}

describeInBrowser('the first view', (eye) => {
  let server: LocalServer;
  let own: LocalServer;
  beforeAll(async () => {
    server = await serveHere();
    own = await serveHere({ DATABASE_URL: await databaseOf(...OWN_RECORDS) });
  });

  test.each(PAGES)('of $path is small and still', async ({ path, drawn, ...most }) => {
    for (const width of WIDTHS) {
      const viewport = { width, height: 900 };
      const page = await eye.open(`${server.url}/icon.svg`, { viewport });
      const view = await firstView(page, `${server.url}${path}`, drawn, width < 768);
      expect(view.requests).toBeLessThanOrEqual(most.requests);
      expect(view.bytes / 1024).toBeLessThanOrEqual(most.kilobytes);
      expect(view.shift).toBeLessThanOrEqual(most.shift);
    }
  });

  test.each([
    ['/', 'a profile without items'],
    ['/?variant=b&user=nobody', 'an unknown user'],
  ])('%s with own data does not shift: %s', (path) => holdStill(`${own.url}${path}`));

  test('of a served file does not shift when it says when the file was saved', async () => {
    const file = tempFile('people.ndjson', ndjson(...OWN_RECORDS));
    const { url } = await serveHere({}, [file]);
    await holdStill(`${url}/`);
  });

  async function holdStill(address: string) {
    for (const width of WIDTHS) {
      const viewport = { width, height: 900 };
      const page = await eye.open(new URL('/icon.svg', address).href, {
        viewport,
        expected: /status of 404/,
      });
      const { shift } = await firstView(page, address, PAGES[0]?.drawn as string, true);
      expect(shift, `${width} px`).toBeLessThanOrEqual(MAX_SHIFT);
    }
  }
});
