// The pages of people, their feeds and images in a browser: with and without scripts, hostile data, prefixes.
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessibilityFaults, DESKTOP, describeInBrowser, overhang, startSite } from '../browser.ts';
import { blog, post } from '../records.ts';
import { ask, databaseOf, ndjson, type Server, startServer, tempFile, ugly } from '../rig.ts';

describeInBrowser('the page of a person', (eye) => {
  let server: Server;
  let hostile: Server;
  const sites: { close: () => Promise<void> }[] = [];
  afterAll(() => Promise.all(sites.map((site) => site.close())));
  beforeAll(async () => {
    server = await startServer();
    const files = ['hostile-texts.ndjson', 'hostile-names.ndjson'].map(ugly);
    hostile = await startServer({ DATABASE_URL: await databaseOf(...files) });
  });

  test.each([320, 1440])('keeps its shape with the longest texts and counts at %i px', async (width) => {
    const long = 'word '.repeat(8000);
    const records = ndjson(
      blog(1, 'long', { name: 'Two lines of a name '.repeat(4), bio: long, totalFollowers: '9'.repeat(400) }),
      ...Array.from({ length: 15 }, (_, nth) => post(nth + 1, 1, { post_details: long.replaceAll(' ', '') })),
    );
    const own = await startServer({ DATABASE_URL: await databaseOf(tempFile('long.ndjson', records)) });
    for (const javaScriptEnabled of [true, false]) {
      const page = await eye.open(`${own.url}/people/a/long`, {
        viewport: { width, height: 900 },
        javaScriptEnabled,
      });
      await page.locator('#profile h2').waitFor();
      const size = await page
        .locator('body')
        .evaluate((body: { scrollWidth: number; scrollHeight: number }) => [
          body.scrollWidth,
          body.scrollHeight,
        ]);
      expect(size[0]).toBeLessThanOrEqual(width);
      expect(size[1]).toBeLessThan(12_000);
      const avatar = await page.locator('.person .avatar').boundingBox();
      expect(avatar?.width).toBe(avatar?.height);
    }
  });

  test.each([
    [320, 'light'],
    [390, 'dark'],
    [768, 'light'],
    [1440, 'dark'],
  ] as const)('is readable without scripts at %i px, %s', async (width, colorScheme) => {
    const look = { viewport: { width, height: 900 }, colorScheme };
    for (const path of ['/people/a/Amara', '/people/b/ada', '/people/b/nobody']) {
      const expected = /status of 404/;
      const plain = await eye.open(`${server.url}${path}`, { ...look, javaScriptEnabled: false, expected });
      await plain.locator('#profile h2').waitFor();
      const scripted = await eye.open(`${server.url}${path}`, { ...look, expected });
      // The same HTML without its script, where axe can run.
      await scripted.route('**/explorer.js', (route) =>
        route.fulfill({ contentType: 'text/javascript', body: '' }),
      );
      await scripted.reload();
      expect([path, await overhang(scripted)]).toEqual([path, 0]);
      expect([path, await accessibilityFaults(scripted)]).toEqual([path, []]);
    }
  });

  test('is the explorer opened on that person, and Back leads to it again', async () => {
    const page = await eye.open(`${server.url}/people/c/elodie`);
    await page.locator('.address', { hasText: 'GET /c/api/username/elodie' }).waitFor();
    await page.locator('.person img').waitFor();
    expect(await page.getByLabel('C portfolio').isChecked()).toBe(true);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.locator('#people').getByRole('link', { name: 'ada' }).click();
    await page.waitForURL(`${server.url}/?variant=c&user=ada`);
    await page.locator('.address', { hasText: '/ada' }).waitFor();
    await page.getByRole('link', { name: 'Link to this profile' }).click();
    await page.waitForURL(`${server.url}/people/c/ada`);
    await page.goBack();
    await page.goBack();
    await page.waitForURL(`${server.url}/people/c/elodie`);
    await page.locator('#profile h2', { hasText: 'Élodie' }).waitFor();
    expect(await page.getByLabel('User name').inputValue()).toBe('elodie');
  });

  test('works by keyboard: variant, name, request', async () => {
    const page = await eye.open(`${server.url}/people/b/ada`);
    await page.locator('.facts', { hasText: '200' }).waitFor();
    await page.locator('[name=variant]:checked').focus();
    await page.keyboard.press('ArrowLeft');
    await page.waitForURL(`${server.url}/?variant=a&user=ada`);
    await page.locator('.address', { hasText: 'GET /a/api/?user=ada' }).waitFor();
  });

  test('behind a proxy that removes a prefix', async () => {
    const prefix = '/deep/down';
    const site = await startSite(({ url = '', headers }, answer) => {
      if (!url.startsWith(`${prefix}/`)) return void answer.writeHead(404).end();
      request({ port: server.port, path: url.slice(prefix.length), headers }, (inner) =>
        inner.pipe(answer.writeHead(inner.statusCode ?? 500, inner.headers)),
      ).end();
    });
    sites.push(site);
    const page = await eye.open(`${site.url}${prefix}/people/b/ada`);
    await page.locator('.address', { hasText: `GET ${prefix}/b/api/username/ada` }).waitFor();
    await page.locator('.person img').waitFor();
    await page.locator('#people').getByRole('link', { name: 'elodie' }).click();
    await page.waitForURL(`${site.url}${prefix}/?variant=b&user=elodie`);
    const links = page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'OpenAPI' });
    expect(await links.getAttribute('href')).toBe(`${site.url}${prefix}/openapi.json`);
    expect(await page.locator('#snippet').innerText()).toContain(`${site.url}${prefix}/card/b/elodie.svg`);
  });

  test.each(['a', 'b'])(
    'hostile texts and names are text in pages, feeds and images of variant %s',
    async (variant) => {
      const names = ['texts', '"><script>alert(1)</script>', "o'neill", 'a/b?c#d', '%2e%2e'];
      for (const name of names) {
        const segment = encodeURIComponent(name);
        const { status } = await ask(hostile, `/people/${variant}/${segment}`);
        if (status !== 200) continue;
        const page = await eye.open(`${hostile.url}/people/${variant}/${segment}`, {
          viewport: DESKTOP,
          // The parser of this test reports the style of the image.
          expected: /inline style/,
        });
        await page.locator('.facts', { hasText: '200' }).waitFor();
        expect(await page.getByLabel('User name').inputValue()).toBe(name);
        expect(await page.locator('#profile script, #profile [onload], #profile [onerror]').count()).toBe(0);
        const faults = (await page.evaluate(`Promise.all(
        ['feeds/${variant}/${segment}.atom', 'card/${variant}/${segment}.svg'].map(async (path) => {
          const response = await fetch('../../' + path);
          const type = response.headers.get('content-type').includes('svg') ? 'image/svg+xml' : 'application/xml';
          const parsed = new DOMParser().parseFromString(await response.text(), type);
          const image = type.includes('svg') && Object.assign(new Image(), { src: '../../' + path });
          if (image) await image.decode();
          return [parsed.querySelector('parsererror')?.textContent ?? '', image ? image.naturalWidth : 440];
        }))`)) as unknown;
        expect([name, faults]).toEqual([
          name,
          [
            ['', 440],
            ['', 440],
          ],
        ]);
      }
    },
  );
});
