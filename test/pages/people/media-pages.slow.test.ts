// Copies of pictures in a browser: on the explorer, the pages of people, the card and its image; and an SVG with a script.
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { databaseOf } from '../../support/database.ts';
import { fixture, tempFile } from '../../support/files.ts';
import { freePort } from '../../support/free-port.ts';
import { putCopy, SVG_WITH_SCRIPT } from '../../support/media-folder.ts';
import { startSite } from '../../support/mirror-site.ts';
import { blog, post } from '../../support/records.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

/** Within the image of the card. */
const AVATAR = { x: 40, y: 60, width: 40, height: 48 };

describeInBrowser('copies of pictures', (eye) => {
  let server: LocalServer;
  let media: string;
  let host: Awaited<ReturnType<typeof startSite>>;
  let shown = '';
  let scripted: string;
  beforeAll(async () => {
    const port = await freePort();
    // Another origin than the one that the browser opens.
    media = `http://localhost:${port}`;
    const file = tempFile('ada.ndjson', '');
    const folder = `${file}.media`;
    const avatar = putCopy(folder, readFileSync(fixture('pictures/avatar-ada.svg')), 'svg');
    const url = `${media}/media/${avatar}`;
    const records = [blog(1, 'ada', { avatar: url, avatar_large: url }), post(1, 1, { photo: url })];
    const database = await databaseOf(...records);
    server = await serveHere({ DATABASE_URL: database, MEDIA_DIR: folder, PORT: String(port) });
    scripted = putCopy(folder, SVG_WITH_SCRIPT, 'svg');
    host = await startSite((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      response.end(`<!doctype html><link rel="icon" href="data:,">${shown}`);
    });
  });

  /** Waits until each of these pictures has been drawn. The pages' policy forbids Playwright's own way to wait. */
  const drawn = (page: Page, images: string, count = 1) =>
    expect
      .poll(() => page.evaluate(`Array.from(${images}, (image) => image.complete && image.naturalWidth > 0)`))
      .toEqual(Array(count).fill(true));

  test.each([
    ['/?variant=a&user=ada', '#profile :is(.avatar, .photo) img'],
    ['/people/a/ada', '.avatar img, .photo img'],
  ])('%s shows them from another origin', async (path, pictures) => {
    const page = await eye.open(server.url + path, { origins: [media] });
    await drawn(page, `document.querySelectorAll('${pictures}')`, 2);
  });

  test('the card shows them on the page of another site', async () => {
    shown = `<script type="module" src="${server.url}/embed.js"></script><vitrine-profile base="${server.url}/a" variant="a" user="ada"></vitrine-profile>`;
    const page = await eye.open(host.url, { origins: [server.url, media] });
    await drawn(
      page,
      `(document.querySelector('vitrine-profile')?.shadowRoot?.querySelectorAll('.avatar img') ?? [])`,
    );
  });

  test('the image of the card holds the avatar, within a page and alone', async () => {
    const address = `${server.url}/card/a/ada.svg`;
    /** The pixels where the avatar is. */
    const look = async (source: string) => {
      shown = `<style>body { margin: 0 }</style><img src="${source}">`;
      const page = await eye.open(host.url, { origins: [server.url] });
      await drawn(page, 'document.images');
      return page.screenshot({ clip: AVATAR });
    };
    const text = await (await fetch(address)).text();
    const initials = await look(`data:image/svg+xml,${encodeURIComponent(text.replace(/<image.*?>/, ''))}`);
    const whole = await look(address);
    expect(whole.equals(initials)).toBe(false);
    const alone = await eye.open(address);
    expect((await alone.screenshot({ clip: AVATAR })).equals(initials)).toBe(false);
  });

  test('an SVG runs no script, wherever it is opened', async () => {
    const page = await eye.open(`${server.url}/media/${scripted}`, { expected: /script/i });
    expect(await page.evaluate('document.documentElement.localName')).toBe('svg');
    expect(await page.evaluate('document.documentElement.hasAttribute("data-ran")')).toBe(false);
    shown = SVG_WITH_SCRIPT;
    const control = await eye.open(host.url);
    expect(await control.evaluate('document.documentElement.hasAttribute("data-ran")')).toBe(true);
  });
});
