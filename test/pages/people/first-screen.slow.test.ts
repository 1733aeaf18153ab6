// What a visitor sees without scrolling: on the page of an item, and while pictures are loaded or missing.
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { accessibilityFaults, describeInBrowser, overhang, watchCosts } from '../../support/browser.ts';
import { databaseOf } from '../../support/database.ts';
import { startFiles } from '../../support/mirror-site.ts';
import { blog, folio, shot } from '../../support/records.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

const SHAPES = { wide: [1600, 900], tall: [900, 1600], square: [1200, 1200] } as const;
const WINDOWS = [
  { width: 1280, height: 900 },
  { width: 1440, height: 800 },
  { width: 390, height: 844 },
] as const;

const plain = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#a33' } })
    .png()
    .toBuffer();

describeInBrowser('the first screen', (eye) => {
  let server: LocalServer;
  let pictures: string;
  beforeAll(async () => {
    const files = Object.entries(SHAPES).map(async ([name, [width, height]]) => [
      `/${name}.png`,
      await plain(width, height),
    ]);
    const site = await startFiles(Object.fromEntries(await Promise.all(files)));
    pictures = site.url;
    const records = Object.keys(SHAPES).map((name, nth) =>
      shot(nth + 1, 1, {
        title: `A ${name} one`,
        description: 'A note. '.repeat(40),
        image: `${site.url}/${name}.png`,
      }),
    );
    const ada = folio(1, 'ada', { name: 'Ada Lindqvist', avatar: `${site.url}/square.png` });
    const gone = shot(9, 1, { title: 'Gone', image: 'http://127.0.0.1:9/gone.png' });
    const ida = blog(2, 'ida', { name: 'Ida Christensen' });
    const url = await databaseOf(ada, ...records, gone, ida);
    server = await serveHere({ DATABASE_URL: url, DIRECTORY: 'on' });
  });

  describe.each(WINDOWS)('of $width × $height', (viewport) => {
    test.each(Object.keys(SHAPES).map((name, nth) => [name, nth + 1] as const))(
      'has maker, picture and title of a %s work, which begin at one edge or stand beside each other',
      async (_, id) => {
        const page = await eye.open(`${server.url}/people/b/ada/${id}`, { viewport, origins: [pictures] });
        const boxes = await Promise.all(
          ['.byline .face', '.work', 'h1'].map((part) => page.locator(part).boundingBox()),
        );
        const bottoms = boxes.map((box) => (box?.y ?? Number.NaN) + (box?.height ?? Number.NaN));
        expect(bottoms.toSorted((one, other) => one - other)).toEqual(bottoms);
        expect(bottoms.at(-1)).toBeLessThanOrEqual(viewport.height);
        const [face, work, title] = boxes.map((box) => box ?? { x: Number.NaN, width: 0 });
        expect(Math.round(work?.x ?? 0)).toBe(Math.round(face?.x ?? 1));
        const isBeside = (title?.x ?? 0) > (work?.x ?? 0) + (work?.width ?? 0);
        if (!isBeside) expect(Math.round(title?.x ?? 0)).toBe(Math.round(work?.x ?? 1));
        expect(await overhang(page)).toBe(0);
      },
    );
  });

  test.each(['screen', 'print'] as const)(
    'has no white box where a picture is not there: %s',
    async (media) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await eye.open(`${server.url}/people/b/ada`, {
          origins: [pictures, 'http://127.0.0.1:9'],
          expected: /ERR_/,
          colorScheme,
        });
        await page.emulateMedia({ media });
        const colours = await page.evaluate(
          "[...document.querySelectorAll('.picture')].map((each) => getComputedStyle(each).backgroundColor)",
        );
        const paper = colorScheme === 'light' || media === 'print' ? 'rgb(221, 230, 227)' : 'rgb(31, 42, 39)';
        expect(new Set(colours as string[]).has('rgb(255, 255, 255)')).toBe(false);
        expect(colours).toContain(paper);
      }
    },
  );

  test.each(['/people/b/ada', '/people/b/ada/1', '/people/b/ada/follow', '/people/a/ida'])(
    '%s breaks no word of the name on the smallest phone at 200% text',
    async (path) => {
      const page = await eye.open(server.url + path, {
        viewport: { width: 320, height: 640 },
        origins: [pictures, 'http://127.0.0.1:9'],
        expected: /ERR_/,
      });
      await page.evaluate("document.documentElement.style.fontSize = '32px'");
      const lines = await page.evaluate(`(() => {
        const text = document.querySelector('main :is(.p-name, .name)').firstChild;
        const range = document.createRange();
        return text.data.split(' ').map((word) => {
          range.setStart(text, text.data.indexOf(word));
          range.setEnd(text, text.data.indexOf(word) + word.length);
          return range.getClientRects().length;
        });
      })()`);
      expect(lines).toEqual([1, 1]);
      expect(await overhang(page)).toBe(0);
    },
  );

  test('the directory has room to type a name there, too', async () => {
    const page = await eye.open(`${server.url}/people/b`, {
      viewport: { width: 320, height: 640 },
      origins: [pictures, 'http://127.0.0.1:9'],
      expected: /ERR_/,
    });
    await page.evaluate("document.documentElement.style.fontSize = '32px'");
    expect((await page.locator('#q').boundingBox())?.width).toBeGreaterThan(200);
    expect(await overhang(page)).toBe(0);
  });

  test('the page behind Follow completes the addresses, copies them and is accessible', async () => {
    const page = await eye.open(`${server.url}/people/b/ada/follow`, { origins: [pictures] });
    const address = `${server.url}/feeds/b/ada.atom`;
    await page.getByRole('link', { name: address }).waitFor();
    for (const width of [320, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      expect([await overhang(page), await accessibilityFaults(page)]).toEqual([0, []]);
    }
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('.copy').first().click();
    await page.locator('.copy', { hasText: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(address);
  });

  describe('with a cover and fifteen photos of 160 KB, of which there are no copies,', () => {
    let photos: string;
    let own: LocalServer;
    beforeAll(async () => {
      const start = await sharp(await plain(1400, 1050))
        .jpeg()
        .toBuffer();
      const photo = Buffer.concat([start, Buffer.alloc(160 * 1024 - start.length)]);
      const numbers = Array.from({ length: 15 }, (_, nth) => nth + 1);
      const files = Object.fromEntries(['cover', ...numbers].map((name) => [`/${name}`, photo]));
      const site = await startFiles({ ...files, '/avatar': start });
      photos = site.url;
      const pia = folio(1, 'pia', {
        name: 'Pia Nilsson',
        avatar: `${site.url}/avatar`,
        cover_image: `${site.url}/cover`,
        bio: 'Harbours and trams.',
      });
      const shots = numbers.map((nth) =>
        shot(nth, 1, { title: `Photo ${nth}`, image: `${site.url}/${nth}` }),
      );
      own = await serveHere({ DATABASE_URL: await databaseOf(pia, ...shots) });
    });

    const isWhole = '[...document.images].every((image) => image.complete && image.naturalWidth > 0)';

    test.each([
      [{ width: 1280, height: 900 }, 700],
      [{ width: 1440, height: 800 }, 700],
      // The cover and five photos: none that is in the window is empty.
      [{ width: 390, height: 844 }, 1000],
    ] as const)(
      '%o costs at most %i KB, and further pictures come as they are scrolled to',
      async (viewport, most) => {
        const page = await eye.open(`${own.url}/people/b/nobody`, {
          viewport,
          origins: [photos],
          expected: /404/,
        });
        const costs = await watchCosts(page);
        await page.goto(`${own.url}/people/b/pia`, { waitUntil: 'networkidle' });
        expect(costs.bytes / 1024).toBeGreaterThan(160);
        expect(costs.bytes / 1024).toBeLessThanOrEqual(most);
        for (const tile of await page.locator('.tile').all()) await tile.scrollIntoViewIfNeeded();
        await expect.poll(() => page.evaluate(isWhole)).toBe(true);
        expect(await costs.shift()).toBe(0);
      },
    );

    test('prints all of them', async () => {
      const page = await eye.open(`${own.url}/people/b/pia`, { origins: [photos] });
      // The dialog of a browser asks for lazy pictures first, which the PDF of the protocol does not.
      await page.emulateMedia({ media: 'print' });
      await expect.poll(() => page.evaluate(isWhole)).toBe(true);
    });
  });
});
