// The front-ends of test/front-ends, built and shown in a browser: a rehearsal provokes each state that they have.
import { join } from 'node:path';
import { build, type Rollup } from 'vite';
import { beforeAll, expect, test } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { ROOT } from '../../support/files.ts';
import { startSite } from '../../support/mirror-site.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

let server: LocalServer;
beforeAll(async () => {
  server = await serveHere({}, ['--rehearse']);
});

/** A page with the front-end of this server, on a site of its own. */
async function startFrontEnd(file: string, { url: api }: LocalServer) {
  const { output } = (await build({
    configFile: false,
    logLevel: 'error',
    build: { write: false, rollupOptions: { input: join(ROOT, 'test/front-ends', file) } },
  })) as Rollup.RollupOutput;
  const code = output[0].code.replaceAll('http://127.0.0.1:8080', api);
  return startSite(({ url }, response) =>
    url === '/app.js'
      ? response.setHeader('content-type', 'text/javascript; charset=utf-8').end(code)
      : response
          .setHeader('content-type', 'text/html; charset=utf-8')
          .end(
            '<!doctype html><title>x</title><link rel="icon" href="data:,"><body><script type="module" src="/app.js"></script>',
          ),
  );
}

for (const file of ['react.tsx', 'vue.ts', 'plain.ts'])
  describeInBrowser(file, (eye) => {
    let site: string;
    beforeAll(async () => {
      site = (await startFrontEnd(file, server)).url;
    });

    /** The page of a person, whose requests ask for this. */
    const open = (wish: string, user = 'ada') =>
      eye.open(`${site}/?user=${user}`, {
        extraHTTPHeaders: { 'x-rehearse': wish },
        origins: [server.url],
        expected: /Failed to load resource/,
      });

    test('shows a person and the work', async () => {
      const page = await open('delay=0');
      await page.locator('h1', { hasText: 'Ada Lindqvist' }).waitFor();
      expect(await page.locator('li').count()).toBe(15);
    });

    test('meets what a seed decides: here an error first, and none when it tries again', async () => {
      const args = ['--delay', '20-60', '--fail', '50%:503', '--seed', '2'];
      const failing = await serveHere({}, ['--rehearse', ...args]);
      const { url } = await startFrontEnd(file, failing);
      const page = await eye.open(url, { origins: [failing.url], expected: /Failed to load resource/ });
      await page.locator('[role=alert]', { hasText: 'Too busy' }).waitFor();
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.locator('h1', { hasText: 'Ada Lindqvist' }).waitFor();
    });

    test('says that it loads', async () => {
      const page = await open('delay=60000');
      await page.locator('[role=status]', { hasText: 'Loading' }).waitFor();
    });

    test('says that there is no work', async () => {
      const page = await open('empty');
      await page.locator('p', { hasText: 'Nothing yet.' }).waitFor();
      expect(await page.locator('h1').innerText()).toBe('ada');
    });

    test.each([
      ['delay=0', 'nobody'],
      ['status=404', 'ada'],
      ['status=410', 'ada'],
    ])('%s: says that there is no %s', async (wish, user) => {
      const page = await open(wish, user);
      await page.locator('p', { hasText: `There is no ${user}.` }).waitFor();
      expect(await page.locator('[role=alert]').count()).toBe(0);
    });

    test.each([
      ['status=503', 'Too busy'],
      ['status=429', 'Too many requests'],
      ['status=500', 'Something went wrong'],
      ['reset', ''],
      ['truncate', ''],
    ])('%s: says so, and tries again when asked', async (wish, message) => {
      const page = await open(wish);
      await page.locator('[role=alert]', { hasText: message }).waitFor();
      await page.context().setExtraHTTPHeaders({});
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.locator('h1', { hasText: 'Ada Lindqvist' }).waitFor();
    });
  });
