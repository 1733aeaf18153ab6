// Takes the README's screenshots: `node test/screenshots/screenshots.ts FONTS`. Needs Chromium, and a folder with fonts such as visitors
// have: `apt-get download fonts-inter fonts-urw-base35 fonts-noto-cjk fonts-noto-color-emoji`, and `dpkg-deb -x FILE FONTS`
// for each.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser } from 'playwright-core';
import { launch } from '../support/browser-launch.ts';
import { startServer } from '../support/rig.ts';

const FOLDER = import.meta.dirname;
const EXPLORER = { query: '?variant=b&user=ada', viewport: { width: 1360, height: 940 } };
const PERSON = { query: 'people/b/ada', viewport: { width: 1200, height: 1000 } };

interface Picture {
  /** The address; of the explorer, if it begins with a question mark. */
  readonly query: string;
  readonly colorScheme: 'light' | 'dark';
  readonly viewport: { width: number; height: number };
}

const fonts = process.argv[2];
if (fonts === undefined)
  throw new Error('Name a folder of fonts: node test/screenshots/screenshots.ts FONTS');
const settings = mkdtempSync(join(tmpdir(), 'screenshots-'));
process.env.FONTCONFIG_FILE = writeFontSettings(settings, join(resolve(fonts), 'usr/share/fonts'));
const server = await startServer();
const browser = await launch();
try {
  for (const [name, view] of Object.entries({ person: PERSON, portfolio: EXPLORER }))
    for (const colorScheme of ['light', 'dark'] as const) {
      const webp = await take(browser, server.url, { ...view, colorScheme });
      writeFileSync(join(FOLDER, `${name}-${colorScheme}.webp`), webp);
      console.log(`test/screenshots/${name}-${colorScheme}.webp  ${(webp.length / 1024).toFixed(0)} KB`);
    }
} finally {
  await browser.close();
  await server.stop();
  rmSync(settings, { recursive: true });
}

/** Inter and P052 stand for the sans of phones and desktops, and for Palatino. */
function writeFontSettings(folder: string, fonts: string): string {
  const file = join(folder, 'fonts.conf');
  const parts = [
    // Chromium cannot draw what is beside these, Type 1.
    ...['opentype', 'truetype'].map((kind) => `<dir>${join(fonts, kind)}</dir>`),
    `<cachedir>${folder}</cachedir>`,
    // What a rule of the machine prefers comes behind these.
    '<include ignore_missing="yes">/etc/fonts/fonts.conf</include>',
    ...['system-ui', 'sans', 'sans-serif'].map(
      (name) =>
        `<match><test name="family"><string>${name}</string></test>` +
        '<edit name="family" mode="prepend" binding="strong"><string>Inter</string></edit></match>',
    ),
  ];
  writeFileSync(file, `<?xml version="1.0"?><fontconfig>${parts.join('')}</fontconfig>`);
  return file;
}

async function take(browser: Browser, address: string, { query, colorScheme, viewport }: Picture) {
  const page = await browser.newPage({
    colorScheme,
    viewport,
    deviceScaleFactor: 1.5,
    reducedMotion: 'reduce',
  });
  await page.goto(`${address}/${query}`, { waitUntil: 'networkidle' });
  if (query.startsWith('?')) {
    // A second request shows the time it takes when no page is loading at the same moment.
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForLoadState('networkidle');
  }
  await page.evaluate('document.activeElement.blur()');
  await page.waitForLoadState('networkidle');
  await page.waitForFunction(
    "[...document.images].every((image) => image.complete || image.loading === 'lazy')",
  );
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 86 });
  await page.close();
  return Buffer.from(data, 'base64');
}
