// The pages of people, their feeds and images in a browser: with and without scripts, hostile data, prefixes.
import { beforeAll, expect, test } from 'vitest';
import { accessibilityFaults, DESKTOP, describeInBrowser, overhang } from '../../support/browser.ts';
import { databaseOf } from '../../support/database.ts';
import { blog, folio, post, shot } from '../../support/records.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

describeInBrowser('the page of a person', (eye) => {
  let server: LocalServer;
  let people: LocalServer;
  let awkward: LocalServer;
  beforeAll(async () => {
    server = await serveHere();
    people = await serveHere({ DIRECTORY: 'on' });
    const long = 'word '.repeat(2500);
    const numbers = Array.from({ length: 15 }, (_, nth) => nth + 1);
    const records = [
      blog(1, 'long', { name: 'Two lines of a name '.repeat(4), bio: long, totalFollowers: '9'.repeat(40) }),
      ...numbers.map((nth) => post(nth, 1, { post_details: long.replaceAll(' ', '') })),
      folio(1, 'long', { name: 'Donaudampfschifffahrt'.repeat(3), skills: `${long},`.repeat(2) }),
      ...numbers.map((nth) => shot(nth, 1, { title: long, description: long, tags: long, price_item: long })),
      folio(2, 'مريم', { name: 'مريم العلي', bio: 'خط عربي وتصميم', location: 'القاهرة' }),
      shot(20, 2, { title: 'لوحة', description: 'حبر على ورق' }),
      folio(4, 'two'),
      ...[40, 41].map((id) => shot(id, 4, { date: '2026-09-12 10:00:00' })),
      folio(3, 'words'),
      shot(30, 3, { title: 'Donaudampfschifffahrt'.repeat(9), description: 'a word '.repeat(25) }),
      shot(31, 3, { tags: Array.from('123456', (nth) => 'tag'.repeat(15) + nth).join() }),
      shot(32, 3, { tags: Array.from('123456', (nth) => 'tag'.repeat(5) + nth).join() }),
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
  test.each(['a/Amara', 'b/ada', 'b/ada/767', 'b/nobody', 'a/long', 'b/long', 'b/مريم'])(
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

  test.each([
    ['#f4b942', 'rgb(244, 185, 66)', 'rgb(244, 185, 66)'],
    ['#0000ff,#000000', 'rgb(0, 0, 255)', 'rgb(0, 0, 0)'],
  ])('ACCENT=%s is shown as it is, and as text it can be read', async (accent, light, dark) => {
    const own = await serveHere({ ACCENT: accent });
    for (const path of ['/people/b/ada', '/?variant=b&user=ada'])
      for (const [colorScheme, colour] of [
        ['light', light],
        ['dark', dark],
      ] as const) {
        const page = await eye.open(own.url + path, { colorScheme });
        await page.locator('.gallery').first().waitFor();
        expect([path, colorScheme, await accessibilityFaults(page)]).toEqual([path, colorScheme, []]);
        const plinth = "getComputedStyle(document.querySelector('.brand-plinth')).fill";
        expect(await page.evaluate(plinth)).toBe(colour);
      }
  });

  test.each(['/people/a/Amara', '/people/b/ada'])(
    '%s has the name in the first third of a phone',
    async (path) => {
      const page = await eye.open(server.url + path, { viewport: { width: 390, height: 844 } });
      const name = await page.locator('h1').boundingBox();
      expect((name?.y ?? Number.NaN) + (name?.height ?? Number.NaN)).toBeLessThan(844 / 3);
    },
  );

  test('gives the chosen picture and that of the item one name for the page transition', async () => {
    const page = await eye.open(`${server.url}/people/b/ada`, { reducedMotion: 'no-preference' });
    const named =
      "[...document.querySelectorAll('*')].filter((each) => getComputedStyle(each).viewTransitionName !== 'none').map((each) => each.localName + '.' + each.className)";
    expect(await page.evaluate(named)).toEqual(['html.']);
    const rule = 'document.styleSheets[0].cssRules[0].cssRules[0]';
    expect(await page.evaluate(`${rule}.navigation`)).toBe('auto');
    await page.locator('.shot .p-name').nth(2).focus();
    expect(await page.evaluate(named)).toEqual(['html.', 'a.frame']);
    await page.goto(`${server.url}/people/b/ada/767`);
    expect(await page.evaluate(named)).toEqual(['html.', 'a.frame']);
  });

  test('loads only its style and pictures, and works if all else fails', async () => {
    const asked: string[] = [];
    const page = await eye.open(`${server.url}/icon.svg`, { javaScriptEnabled: false });
    await page.route('**/api/**', (route) => route.abort());
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${server.url}/people/b/ada`, { waitUntil: 'networkidle' });
    expect(asked.filter((path) => !path.startsWith('/samples/'))).toEqual([
      '/people/b/ada',
      expect.stringMatching(/^\/person\.[0-9a-f]{12}\.css$/),
      ...asked.filter((path) => path === '/icon.svg'),
    ]);
    expect(await page.locator('.gallery h3').count()).toBe(15);
    expect(await page.locator('.cover img').getAttribute('fetchpriority')).toBe('high');
  });

  test('breaks no word of a name, with letters of twice the size', async () => {
    const page = await eye.open(`${server.url}/people/b/ada`, { viewport: { width: 390, height: 844 } });
    await page.evaluate("document.documentElement.style.fontSize = '32px'");
    const lines = `(() => {
      const range = document.createRange();
      const text = document.querySelector('h1 .p-name').firstChild;
      return text.data.split(' ').map((word) => {
        range.setStart(text, text.data.indexOf(word));
        range.setEnd(text, text.data.indexOf(word) + word.length);
        return range.getClientRects().length;
      });
    })()`;
    expect(await page.evaluate(lines)).toEqual([1, 1]);
  });

  test.each([
    '/people/b/ada',
    '/people/b/ada/767',
    '/people/b/ada?before=767',
    '/people/b?q=a',
    '/explore?user=ada',
    '/people/b/two',
  ])('%s fits the screen at 200% text, and no label leaves its place', async (path) => {
    const { url } = path.endsWith('two') ? awkward : people;
    const page = await eye.open(url + path, { viewport: { width: 320, height: 844 } });
    await page.evaluate("document.documentElement.style.fontSize = '32px'");
    expect(await overhang(page)).toBe(0);
    const isCut = '({ scrollWidth, clientWidth }) => scrollWidth > clientWidth';
    const labels = "[...document.querySelectorAll('#variants label')]";
    expect(await page.evaluate(`${labels}.filter(${isCut}).length`)).toBe(0);
  });

  test('keeps marks that are stacked on a letter below the cover and the pictures', async () => {
    const marks = '\u0351\u036b\u0343\u036a\u0302'.repeat(4);
    const names = { name: `Z${marks}algo`, cover_image: `${server.url}/samples/cover-ada.svg` };
    const own = await serveHere({
      DATABASE_URL: await databaseOf(folio(1, 'stacked', names), shot(1, 1, { title: names.name })),
    });
    const page = await eye.open(`${own.url}/people/b/stacked`, { origins: [server.url] });
    for (const [place, name] of [
      ['.cover', 'h1'],
      ['.frame', 'h3'],
    ] as const) {
      const look = () => page.locator(place).screenshot();
      const before = await look();
      await page.evaluate(`document.querySelector('${name}').style.visibility = 'hidden'`);
      expect([place, before.equals(await look())]).toEqual([place, true]);
    }
  });

  test('shows initials in the place of a picture that cannot be loaded', async () => {
    // Nothing listens there.
    const records = [folio(1, 'gone', { avatar: 'http://127.0.0.1:9/gone.png' })];
    const own = await serveHere({ DATABASE_URL: await databaseOf(...records) });
    const page = await eye.open(`${own.url}/people/b/gone`, {
      bypassCSP: true,
      expected: /ERR_/,
      origins: ['http://127.0.0.1:9'],
    });
    await page.addStyleTag({ content: '.picture img::after, .initials { color: transparent !important }' });
    await page.evaluate("document.querySelector('.avatar').className = 'picture avatar hue-0'");
    const avatar = page.locator('.plinth .avatar');
    const { x, y, width, height } = (await avatar.boundingBox()) as NonNullable<
      Awaited<ReturnType<typeof avatar.boundingBox>>
    >;
    // Within the circle, whose edge is drawn over another background.
    const clip = { x: x + width / 4, y: y + height / 4, width: width / 2, height: height / 2 };
    const shown = await page.screenshot({ clip });
    await page.evaluate(
      'document.querySelector(\'.avatar\').outerHTML = \'<span class="picture empty avatar hue-0"><span class="initials">G</span></span>\'',
    );
    expect(shown.equals(await page.screenshot({ clip }))).toBe(true);
  });

  test('shows glass in the place of a cover that cannot be loaded', async () => {
    const cover = 'http://127.0.0.1:9/gone.png';
    const own = await serveHere({ DATABASE_URL: await databaseOf(folio(1, 'gone', { cover_image: cover })) });
    const visit = { expected: /ERR_/, origins: ['http://127.0.0.1:9'] };
    const page = await eye.open(`${own.url}/people/b/gone`, visit);
    const style = "getComputedStyle(document.querySelector('.cover img'), '::after')";
    expect(await page.evaluate(`${style}.content !== 'none' && ${style}.backgroundImage`)).toBe('none');
  });

  test.each([DESKTOP, { width: 390, height: 844 }])('cuts texts off between lines: %o', async (viewport) => {
    const page = await eye.open(`${awkward.url}/people/b/words`, { viewport });
    const halves = `[...document.querySelectorAll('.label :is(h3, h3 > a)')].flatMap((box) => {
      const { right, bottom } = box.getBoundingClientRect();
      const isCut = (line) => line.right > right + 2 || (line.top < bottom - 2 && line.bottom > bottom + 2);
      const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
      const range = document.createRange();
      const cut = [];
      while (texts.nextNode()) {
        range.selectNodeContents(texts.currentNode);
        if ([...range.getClientRects()].some(isCut)) cut.push(texts.currentNode.data);
      }
      return cut;
    })`;
    expect(await page.evaluate(halves)).toEqual([]);
  });

  test('opens a long text without a script, that of an item on its page', async () => {
    const page = await eye.open(`${awkward.url}/people/a/long`, { javaScriptEnabled: false });
    const heightOf = async (part: string) =>
      (await page.locator(part).first().boundingBox())?.height ?? Number.NaN;
    const [bio, text] = [await heightOf('.bio'), await heightOf('.post-text')];
    await page.locator('.about summary').click();
    expect(await heightOf('.bio')).toBeGreaterThan(4 * bio);
    await page.locator('.post .more').first().click();
    await page.waitForURL('**/people/a/long/15');
    expect(await heightOf('.post-text')).toBeGreaterThan(4 * text);
  });

  test('prints all pictures and whole texts', async () => {
    const page = await eye.open(`${server.url}/people/b/ada`);
    // Chromium 150 loads no picture for `page.pdf()` that is not in the window.
    await page.emulateMedia({ media: 'print' });
    const loaded = () =>
      page.evaluate('[...document.images].every((image) => image.complete && image.naturalWidth > 0)');
    await expect.poll(loaded).toBe(true);
    const long = await eye.open(`${awkward.url}/people/a/long`);
    await long.emulateMedia({ media: 'print' });
    expect((await long.locator('.post .words').first().boundingBox())?.height).toBeGreaterThan(300);
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
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.locator('.address', { hasText: 'GET /c/api/username/elodie' }).waitFor();
    await page.getByRole('link', { name: 'Link to this profile' }).click();
    await page.waitForURL(`${server.url}/people/c/elodie`);
  });
});
