// Pages in other languages in a browser: nothing is wider than a small phone, and axe finds nothing, also from right to left.
import { expect, test } from 'vitest';
import { siteLanguage } from '../../../src/config/setting-values.ts';
import { accessibilityFaults, DESKTOP, describeInBrowser, overhang } from '../../support/browser.ts';
import { serveHere } from '../../support/serve-here.ts';

const PAGES = [
  ...['/people/b/ada', '/people/b/ada/767', '/people/b/ada/follow', '/people/b/ada?before=1780'],
  ...['/people/a/ada', '/people/b', '/people/b?q=a', '/people/b/nobody', '/nothing'],
];
const SMALL = { width: 320, height: 640 };

describeInBrowser('pages', ({ open }) => {
  test.each(siteLanguage.words)('in the language %s', async (language) => {
    const server = await serveHere({ SITE_LANGUAGE: language, DIRECTORY: 'on' });
    const page = await open(server.url, { expected: /404/ });
    for (const path of PAGES) {
      await page.goto(server.url + path);
      for (const viewport of [DESKTOP, SMALL]) {
        await page.setViewportSize(viewport);
        expect([path, viewport.width, await overhang(page)]).toEqual([path, viewport.width, 0]);
      }
      if (language === 'ar' || language === 'de')
        expect([path, await accessibilityFaults(page)]).toEqual([path, []]);
    }
  });

  test('in Arabic, a date is read from the right, also below a Latin name', async () => {
    const server = await serveHere({ SITE_LANGUAGE: 'ar' });
    const page = await open(`${server.url}/people/a/ada`);
    const [day, year] = (await page.evaluate(`(() => {
      const text = document.querySelector('time').firstChild;
      const range = document.createRange();
      return [0, text.length - 1].map((at) => {
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return range.getBoundingClientRect().x;
      });
    })()`)) as [number, number];
    expect(day).toBeGreaterThan(year);
  });
});
