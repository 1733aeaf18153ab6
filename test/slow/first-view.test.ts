// What the first view of the explorer costs: requests, bytes and layout shift are held, the time to paint is reported.
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { describeInBrowser } from '../browser.ts';
import { databaseOf, ndjson, type Server, startServer, tempFile } from '../rig.ts';

const MAX_REQUESTS = 20;
const MAX_BYTES = 120 * 1024;
const MAX_SHIFT = 0.05;

/** A phone's connection and processor. */
const SLOW = { latency: 150, downloadThroughput: 1_600_000 / 8, uploadThroughput: 750_000 / 8 };
const SLOWER_CPU = 4;

/** The browser asks for /favicon.ico when it shows a picture only. */
const FAVICON = /status of 404/;

/** Loads the address without a cache and waits until nothing more is requested. */
async function firstView(page: Page, address: string, slow: boolean) {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  if (slow) {
    await session.send('Network.emulateNetworkConditions', { offline: false, ...SLOW });
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER_CPU });
  }
  let [requests, bytes] = [0, 0];
  session.on('Network.requestWillBeSent', ({ request }) => {
    if (request.url.startsWith('http')) requests++;
  });
  session.on('Network.loadingFinished', ({ encodedDataLength }) => void (bytes += encodedDataLength));
  await page.addInitScript(`{
    window.seen = { shift: 0, paint: 0 };
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.seen.shift += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.seen.paint = entry.startTime;
    }).observe({ type: 'largest-contentful-paint', buffered: true });
  }`);
  await page.goto(address, { waitUntil: 'networkidle' });
  await page.locator('#profile:not([aria-busy]) h2').waitFor();
  const seen = (await page.evaluate('window.seen')) as { shift: number; paint: number };
  return { requests, bytes, ...seen };
}

describeInBrowser('the first view', (eye) => {
  let server: Server;
  let own: Server;
  beforeAll(async () => {
    server = await startServer();
    const records = ndjson({ id: '3', username: 'first', name: 'The First', totalShots: '0' });
    own = await startServer({ DATABASE_URL: await databaseOf(tempFile('few.ndjson', records)) });
  });

  test.each([320, 390, 768, 1440])('is small and still at %i px', async (width) => {
    for (const slow of [false, true]) {
      const viewport = { width, height: 900 };
      const page = await eye.open(`${server.url}/icon.svg`, { viewport, expected: FAVICON });
      const { requests, bytes, shift, paint } = await firstView(page, `${server.url}/`, slow);
      console.log(
        `${width} px${slow ? ', slow' : ''}: ${requests} requests, ${Math.round(bytes / 1024)} KB, shift ${shift.toFixed(3)}, largest paint after ${Math.round(paint)} ms`,
      );
      expect(requests).toBeLessThanOrEqual(MAX_REQUESTS);
      expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
      expect(shift).toBeLessThanOrEqual(MAX_SHIFT);
    }
  });

  test.each([
    ['/', 'a profile without items'],
    ['/?variant=b&user=nobody', 'an unknown user'],
  ])('%s with own data does not shift: %s', async (path) => {
    for (const width of [390, 1440]) {
      const viewport = { width, height: 900 };
      const page = await eye.open(`${own.url}/icon.svg`, { viewport, expected: /status of 404/ });
      expect((await firstView(page, `${own.url}${path}`, true)).shift).toBeLessThanOrEqual(MAX_SHIFT);
    }
  });
});
