// Takes the README's screenshots: `node test/screenshots/screenshots.ts FONTS`. Needs Chromium, and a folder with fonts such as visitors
// have: `apt-get download fonts-inter fonts-urw-base35 fonts-noto-cjk fonts-noto-color-emoji`, and `dpkg-deb -x FILE FONTS`
// for each.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser } from 'playwright-core';
import { launch } from '../support/browser-launch.ts';
import { startServer } from '../support/server.ts';

const FOLDER = import.meta.dirname;
const PERSON = 'people/b/ada';
/** The README shows them side by side, at one scale. */
const HEIGHT = 960;
const WIDTHS = { person: 900, phone: 390 };

const fonts = process.argv[2];
if (fonts === undefined)
  throw new Error('Name a folder of fonts: node test/screenshots/screenshots.ts FONTS');
const settings = mkdtempSync(join(tmpdir(), 'screenshots-'));
process.env.FONTCONFIG_FILE = writeFontSettings(settings, join(resolve(fonts), 'usr/share/fonts'));
const server = await startServer();
const browser = await launch();
try {
  for (const [name, width] of Object.entries(WIDTHS))
    for (const colorScheme of ['light', 'dark'] as const) {
      const webp = await take(browser, `${server.url}/${PERSON}`, { width, colorScheme });
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

async function take(
  browser: Browser,
  address: string,
  { width, colorScheme }: { width: number; colorScheme: 'light' | 'dark' },
) {
  const page = await browser.newPage({
    colorScheme,
    viewport: { width, height: HEIGHT },
    deviceScaleFactor: 1.5,
    reducedMotion: 'reduce',
  });
  await page.goto(address, { waitUntil: 'networkidle' });
  await page.waitForFunction(
    "[...document.images].every((image) => image.complete || image.loading === 'lazy')",
  );
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 86 });
  await page.close();
  return Buffer.from(data, 'base64');
}
