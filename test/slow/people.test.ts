// The pages of people, their feeds and images in a browser: with and without scripts, hostile data, prefixes.
import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { accessibilityFaults, DESKTOP, describeInBrowser, overhang } from '../browser.ts';
import { blog, folio, post, shot } from '../records.ts';
import { ask, databaseOf, type LocalServer, startServer } from '../rig.ts';
import { serveHere } from '../serve-here.ts';

/** The browser asks for /favicon.ico when it shows a picture only. */
const FAVICON = /status of 404/;

describeInBrowser('the page of a person', (eye) => {
  let server: LocalServer;
  let awkward: LocalServer;
  beforeAll(async () => {
    server = await serveHere();
    const long = 'word '.repeat(2500);
    const numbers = Array.from({ length: 15 }, (_, nth) => nth + 1);
    const records = [
      blog(1, 'long', { name: 'Two lines of a name '.repeat(4), bio: long, totalFollowers: '9'.repeat(40) }),
      ...numbers.map((nth) => post(nth, 1, { post_details: long.replaceAll(' ', '') })),
      folio(1, 'long', { name: 'Donaudampfschifffahrt'.repeat(3), skills: `${long},`.repeat(2) }),
      ...numbers.map((nth) => shot(nth, 1, { title: long, description: long, tags: long, price_item: long })),
      folio(2, 'مريم', { name: 'مريم العلي', bio: 'خط عربي وتصميم', location: 'القاهرة' }),
      shot(20, 2, { title: 'لوحة', description: 'حبر على ورق' }),
    ];
    awkward = await serveHere({ DATABASE_URL: await databaseOf(...records) });
  });

  const LOOKS = [
    [320, 'light'],
    [390, 'dark'],
    [768, 'light'],
    [1440, 'dark'],
    [2560, 'light'],
  ] as const;
  test.each(['a/Amara', 'b/ada', 'b/nobody', 'a/long', 'b/long', 'b/مريم'])(
    '%s keeps its shape and is accessible in any look',
    async (person) => {
      const site = /long|م/.test(person) ? awkward : server;
      const page = await eye.open(`${site.url}/people/${person}`, { expected: /status of 404/ });
      for (const [width, colorScheme] of LOOKS) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        expect([width, await overhang(page)]).toEqual([width, 0]);
        expect([width, await accessibilityFaults(page)]).toEqual([width, []]);
        const avatar = page.locator('.plinth .avatar');
        const box = (await avatar.count()) > 0 ? await avatar.boundingBox() : null;
        expect([width, box?.width]).toEqual([width, box?.height]);
      }
    },
  );

  test.each(['/people/a/Amara', '/people/b/ada'])(
    '%s has the name in the first third of a phone',
    async (path) => {
      const page = await eye.open(server.url + path, { viewport: { width: 390, height: 844 } });
      const name = await page.locator('h1').boundingBox();
      expect((name?.y ?? Number.NaN) + (name?.height ?? Number.NaN)).toBeLessThan(844 / 3);
    },
  );

  test('asks for nothing but its style and pictures, and is the same when all else fails', async () => {
    const asked: string[] = [];
    const page = await eye.open(`${server.url}/icon.svg`, { javaScriptEnabled: false, expected: FAVICON });
    await page.route('**/api/**', (route) => route.abort());
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${server.url}/people/b/ada`, { waitUntil: 'networkidle' });
    expect(asked.filter((path) => !path.startsWith('/samples/'))).toEqual([
      '/people/b/ada',
      '/person.css',
      ...asked.filter((path) => path === '/icon.svg'),
    ]);
    expect(await page.locator('.gallery h3').count()).toBe(15);
    expect(await page.locator('.cover img').getAttribute('fetchpriority')).toBe('high');
  });

  test('opens long texts without a script', async () => {
    const page = await eye.open(`${awkward.url}/people/b/long`, { javaScriptEnabled: false });
    const words = page.locator('.shot .words').first();
    const height = async () => (await words.boundingBox())?.height ?? Number.NaN;
    const closed = await height();
    await page.locator('.shot summary').first().click();
    expect(await height()).toBeGreaterThan(4 * closed);
  });

  test('prints all pictures and whole texts', async () => {
    const page = await eye.open(`${server.url}/people/b/ada`);
    await page.pdf();
    const loaded = () =>
      page.evaluate('[...document.images].every((image) => image.complete && image.naturalWidth > 0)');
    await expect.poll(loaded).toBe(true);
    const long = await eye.open(`${awkward.url}/people/b/long`);
    await long.emulateMedia({ media: 'print' });
    expect((await long.locator('.shot .words').first().boundingBox())?.height).toBeGreaterThan(300);
    expect(await long.locator('.more').first().isVisible()).toBe(false);
  });

  test('of a person who writes from right to left begins at the right', async () => {
    const page = await eye.open(`${awkward.url}/people/b/مريم`, { viewport: DESKTOP });
    const [avatar, name, bio] = await Promise.all(
      ['.plinth .avatar', 'h1', '.bio'].map((part) => page.locator(part).boundingBox()),
    );
    expect(avatar?.x).toBeGreaterThan((name?.x ?? Number.NaN) + 1);
    expect((bio?.x ?? 0) + (bio?.width ?? 0)).toBeGreaterThan(DESKTOP.width / 2);
    expect(await page.locator('.plinth .initials').textContent()).toBe('م\u200cا');
  });

  test('leads to its JSON in the explorer, and from there back', async () => {
    const page = await eye.open(`${server.url}/people/c/elodie`);
    await page.getByRole('link', { name: 'JSON' }).click();
    await page.locator('.address', { hasText: 'GET /c/api/username/elodie' }).waitFor();
    await page.getByRole('link', { name: 'Link to this profile' }).click();
    await page.waitForURL(`${server.url}/people/c/elodie`);
  });
});

test.runIf(process.platform === 'linux')(
  'a preview takes no memory that stays, however many ask for it',
  async () => {
    const server = await startServer();
    const readers = Array.from({ length: 64 }, async () => {
      for (let nth = 0; nth < 8; nth++) await ask(server, '/card/b/ada.png');
    });
    await Promise.all(readers);
    const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
    expect(Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1])).toBeLessThan(260 * 1024);
    await server.stop();
  },
);
