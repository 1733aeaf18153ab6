// What a phone loads of a person with fifteen photos of 5 MB: small pictures only, and no page moves when they come.
import sharp from 'sharp';
import { beforeAll, expect, test } from 'vitest';
import { describeInBrowser, watchCosts } from '../../support/browser.ts';
import { databaseOf } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { fetchInto } from '../../support/media-folder.ts';
import { startFiles } from '../../support/mirror-site.ts';
import { folio, shot } from '../../support/records.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

const SHAPES = [
  [1600, 1200],
  [1200, 1600],
  // Between two of the ratios that styles know.
  [1920, 1046],
] as const;
const COUNT = 15;
/** Whether the colour behind a picture is seen beside it, by how many pixels. */
const BARS = `Array.from(document.querySelectorAll('.rows .tile img'), (image) => {
  const { width, height } = image.getBoundingClientRect();
  const ratio = image.getAttribute('width') / image.getAttribute('height');
  const isWhole = getComputedStyle(image).objectFit === 'contain';
  return isWhole ? Math.max(width - height * ratio, height - width / ratio) : 0;
})`;

const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 3, isMobile: true };
const SLOW_3G = { latency: 400, kilobits: 400 };

const noise = (width: number, height: number, sigma: number) =>
  sharp({
    create: { width, height, channels: 3, background: '#888', noise: { type: 'gaussian', mean: 128, sigma } },
  })
    .png()
    .toBuffer();

/** Soft shapes under fine grain, as JPEG of a camera's quality. */
async function makePhotos(): Promise<Buffer[]> {
  const grains = await Promise.all(SHAPES.map(([width, height]) => noise(width, height, 8)));
  const photos = Array.from({ length: COUNT }, async (_, nth) => {
    const [width, height] = SHAPES[nth % SHAPES.length] ?? SHAPES[0];
    const grain = { input: grains[nth % SHAPES.length] as Buffer, blend: 'soft-light' } as const;
    const shapes = sharp(await noise(28, 21, 60)).resize(width, height, { kernel: 'cubic', fit: 'fill' });
    return shapes.composite([grain]).jpeg({ quality: 93 }).toBuffer();
  });
  return Promise.all(photos);
}

describeInBrowser('fifteen photos', (eye) => {
  let server: LocalServer;
  let total = 0;
  beforeAll(async () => {
    const photos = await makePhotos();
    total = photos.reduce((sum, { length }) => sum + length, 0);
    const site = await startFiles(Object.fromEntries(photos.map((body, nth) => [`/${nth}`, body])));
    const [avatar, cover] = [`${site.url}/0`, `${site.url}/1`];
    const database = await databaseOf(
      folio(1, 'pia', { avatar, cover_image: cover }),
      ...photos.map((_, nth) => shot(nth + 1, 1, { title: `Photo ${nth}`, image: `${site.url}/${nth}` })),
    );
    const port = await freePort();
    const mediaUrl = `http://127.0.0.1:${port}/media`;
    await fetchInto(database, [site.host], { mediaDir: `${database}.media`, mediaUrl });
    server = await serveHere({ DATABASE_URL: database, MEDIA_URL: mediaUrl, PORT: String(port) });
  });

  test('cost a phone 350 KB, those in its window half of that, and nothing moves', async () => {
    expect(total).toBeGreaterThan(5_000_000);
    const page = await eye.open(`${server.url}/people/b/nobody`, { ...PHONE, expected: /404/ });
    const costs = await watchCosts(page, SLOW_3G);
    await page.goto(`${server.url}/people/b/pia`, { waitUntil: 'networkidle' });
    const shown = 'Array.from(document.images, (image) => image.currentSrc.slice(-9)).filter(Boolean)';
    // The cover, which fills the width, takes a larger one than a tile.
    expect(new Set((await page.evaluate(shown)) as string[])).toEqual(new Set(['-960.webp', '-480.webp']));
    expect(costs.bytes).toBeLessThanOrEqual(350 * 1024);
    const bytesInWindow = (await page.evaluate(
      `[...document.images].filter((image) => image.getBoundingClientRect().top < innerHeight)
        .flatMap((image) => performance.getEntriesByName(image.currentSrc))
        .reduce((sum, { transferSize }) => sum + transferSize, 0)`,
    )) as number;
    expect(bytesInWindow).toBeGreaterThan(20 * 1024);
    expect(bytesInWindow).toBeLessThanOrEqual(175 * 1024);
    expect(await costs.shift()).toBe(0);
  });

  test('hang in rows, as wide as the page and of one height', async () => {
    const page = await eye.open(`${server.url}/people/b/pia`, { viewport: { width: 1280, height: 900 } });
    const boxes = (await page.evaluate(
      "Array.from(document.querySelectorAll('.frame'), (each) => each.getBoundingClientRect().toJSON())",
    )) as { top: number; height: number; right: number }[];
    // A Map keeps their order. An object would put whole numbers first.
    const rows = [...Map.groupBy(boxes, ({ top }) => top).values()];
    expect(rows.length).toBeLessThan(COUNT / 2);
    for (const row of rows) {
      const heights = row.map(({ height }) => height);
      expect(Math.max(...heights) - Math.min(...heights)).toBeLessThan(1);
    }
    const bars = (await page.evaluate(BARS)) as number[];
    expect([bars.length, Math.max(...bars)]).toEqual([COUNT, expect.closeTo(0, 0)]);
    const ends = rows.slice(0, -1).map((row) => Math.round(row.at(-1)?.right ?? 0));
    expect(new Set(ends).size, String(ends)).toBe(1);
  });

  test.each([PHONE, { viewport: { width: 1280, height: 900 } }])(
    'have pages of their own, where nothing moves: %o',
    async (look) => {
      const page = await eye.open(`${server.url}/people/b/nobody`, { ...look, expected: /404/ });
      const costs = await watchCosts(page, SLOW_3G);
      await page.goto(`${server.url}/people/b/pia/2`, { waitUntil: 'networkidle' });
      const box = await page.locator('.work img').boundingBox();
      expect([await costs.shift(), (box?.width ?? 0) / (box?.height ?? 1)]).toEqual([
        0,
        expect.closeTo(3 / 4, 2),
      ]);
    },
  );
});
