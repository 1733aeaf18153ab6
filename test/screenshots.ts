// Takes the README's screenshots: `node test/screenshots.ts`. Needs Chromium and fonts with Chinese and emoji
// (Debian: fonts-noto-cjk fonts-noto-color-emoji).
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser } from 'playwright-core';
import { launch } from './browser-launch.ts';

const FOLDER = join(import.meta.dirname, 'screenshots');
const WIDE = { width: 1360, height: 940 };

interface Picture {
  readonly name: string;
  /** The address; of the explorer, if it begins with a question mark. */
  readonly query: string;
  readonly colorScheme: 'light' | 'dark';
  readonly viewport: { width: number; height: number };
}

const PICTURES: Picture[] = [
  {
    name: 'person-light',
    query: 'people/b/ada',
    colorScheme: 'light',
    viewport: { width: 1200, height: 1000 },
  },
  {
    name: 'person-dark',
    query: 'people/b/ada',
    colorScheme: 'dark',
    viewport: { width: 1200, height: 1000 },
  },
  {
    name: 'portfolio-light',
    query: '?variant=b&user=ada',
    colorScheme: 'light',
    viewport: WIDE,
  },
  {
    name: 'portfolio-dark',
    query: '?variant=b&user=ada',
    colorScheme: 'dark',
    viewport: WIDE,
  },
];

const server = spawn(
  process.execPath,
  [join(import.meta.dirname, '../src/vitrine.js'), 'serve', '--samples'],
  {
    env: { PATH: process.env.PATH, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
const browser = await launch();
try {
  const address = await listening();
  mkdirSync(FOLDER, { recursive: true });
  for (const picture of PICTURES) {
    const webp = await take(browser, address, picture);
    writeFileSync(join(FOLDER, `${picture.name}.webp`), webp);
    console.log(`test/screenshots/${picture.name}.webp  ${(webp.length / 1024).toFixed(0)} KB`);
  }
} finally {
  await browser.close();
  server.kill();
}

async function listening(): Promise<string> {
  for await (const line of createInterface({ input: server.stdout })) {
    const { msg, url } = JSON.parse(line) as { msg: string; url?: string };
    if (msg === 'serving' && url !== undefined) return url;
  }
  throw new Error('the server did not start');
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
  const png = await page.screenshot();
  await page.close();
  return toWebp(browser, png);
}

/** Converts PNG to WebP with the browser's canvas. */
async function toWebp(browser: Browser, png: Buffer): Promise<Buffer> {
  const page = await browser.newPage();
  const encoded = (await page.evaluate(`(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,${png.toString('base64')}';
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', 0.86);
  })()`)) as string;
  await page.close();
  return Buffer.from(encoded.slice(encoded.indexOf(',') + 1), 'base64');
}
