// Chromium for the tests, driven by playwright-core; console errors and unexpected requests fail the test.
import { request } from 'node:http';
import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, describe, expect } from 'vitest';
import { launch } from './browser-launch.ts';
import { startSite } from './mirror-site.ts';
import { skipWithout } from './programs.ts';

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

export interface Visit extends BrowserContextOptions {
  /** Console errors to ignore: the browser logs each failed request. */
  readonly expected?: RegExp;
  /** Origins that may get requests, besides the page's own. */
  readonly origins?: readonly string[];
}

export interface Eye {
  /** Opens an address in a new page. Its errors are checked after the test. */
  open(address: string, visit?: Visit): Promise<Page>;
}

let browser: Promise<Browser> | undefined;
/** The browser of a test file. */
const openBrowser = () => (browser ??= launch());
afterAll(async () => (await browser)?.close());

/** Tests that need a browser. Without one they are skipped with a warning; on CI they fail. */
export function describeInBrowser(name: string, tests: (eye: Eye) => void): void {
  describe.skipIf(skipWithout('chromium'))(name, () => {
    let opened: { page: Page; faults: string[] }[] = [];

    afterEach(async () => {
      const all = opened;
      opened = [];
      await Promise.all(all.map(({ page }) => page.context().close()));
      expect(all.flatMap(({ faults }) => faults)).toEqual([]);
    });

    tests({
      async open(address, { expected, origins = [], ...options } = {}) {
        const context = await (await openBrowser()).newContext({
          viewport: DESKTOP,
          reducedMotion: 'reduce',
          ...options,
        });
        const page = await context.newPage();
        page.setDefaultTimeout(100_000);
        const faults: string[] = [];
        const allowed = [new URL(address).origin, ...origins];
        opened.push({ page, faults });
        page.on('console', (message) => {
          if (message.type() === 'error' && !expected?.test(message.text()))
            faults.push(`console: ${message.text()}`);
        });
        page.on('pageerror', (error) => faults.push(`uncaught: ${error.message}`));
        page.on('dialog', (dialog) => {
          faults.push(`dialog: ${dialog.message()}`);
          dialog.dismiss();
        });
        page.on('request', (request) => {
          const url = new URL(request.url());
          if (url.protocol.startsWith('http') && !allowed.includes(url.origin))
            faults.push(`request to another origin: ${url}`);
        });
        await page.goto(address);
        return page;
      },
    });
  });
}

/** The violations that axe finds in the page; `more`: rules that axe does not check by default. */
export async function accessibilityFaults(page: Page, more: readonly string[] = []): Promise<string[]> {
  await page.evaluate(axe.source);
  const rules = Object.fromEntries(more.map((rule) => [rule, { enabled: true }]));
  const options = JSON.stringify({ resultTypes: ['violations'], rules });
  const results = (await page.evaluate(`axe.run(document, ${options})`)) as axe.AxeResults;
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target.join(' ')} (${node.failureSummary})`),
  );
}

/** How many pixels the page is wider than its viewport. */
export const overhang = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

interface Phone {
  readonly latency: number;
  readonly kilobits: number;
  /** How many times slower its processor is. */
  readonly slowdown?: number;
}

/** From now on adds up requests and bytes, and how far the page shifts; at the speed of a phone. */
export async function watchCosts(page: Page, phone?: Phone) {
  const session = await page.context().newCDPSession(page);
  const costs = { requests: 0, bytes: 0, shift: () => page.evaluate('window.shift') as Promise<number> };
  session.on('Network.requestWillBeSent', ({ request }) => {
    if (request.url.startsWith('http')) costs.requests++;
  });
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    costs.bytes += encodedDataLength;
  });
  await session.send('Network.enable');
  if (phone !== undefined) {
    const { latency, kilobits, slowdown = 1 } = phone;
    const [downloadThroughput, uploadThroughput] = [kilobits * 125, kilobits * 60];
    const speed = { offline: false, latency, downloadThroughput, uploadThroughput };
    await session.send('Network.emulateNetworkConditions', speed);
    await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
  }
  await page.addInitScript(`{
    window.shift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
  }`);
  return costs;
}

/** A proxy in front of a server on this port, which removes a prefix from its addresses. */
export const startPrefixed = (prefix: string, port: number) =>
  startSite(({ url = '', headers }, answer) => {
    if (!url.startsWith(`${prefix}/`)) return void answer.writeHead(404).end();
    request({ port, path: url.slice(prefix.length), headers }, (inner) =>
      inner.pipe(answer.writeHead(inner.statusCode ?? 500, inner.headers)),
    )
      .on('error', () => answer.destroy())
      .end();
  });
