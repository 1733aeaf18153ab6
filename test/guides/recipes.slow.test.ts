// Runs each recipe of the guide unchanged against a server.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { describeInBrowser } from '../support/browser.ts';
import { compile } from '../support/compile.ts';
import { ROOT, tempFolder } from '../support/files.ts';
import { freePort } from '../support/free-port.ts';
import { ask, json } from '../support/http.ts';
import { startSite } from '../support/mirror-site.ts';
import { npm, npmInstall } from '../support/npm.ts';
import { codeBlock, readPage, section } from '../support/pages.ts';
import { skipWithout } from '../support/programs.ts';
import { runNginx } from '../support/proxies.ts';
import { serveHere } from '../support/serve-here.ts';
import type { LocalServer } from '../support/server.ts';

const GUIDE = 'src/guides/recipes.md';

let server: LocalServer;
beforeAll(async () => {
  server = await serveHere();
});

/** A recipe's code block of a language, with the address of the server that runs here. */
function block(title: string, language: string): string {
  const code = codeBlock(GUIDE, title, language);
  expect(code).toContain('http://127.0.0.1:8080/');
  return code.replaceAll('http://127.0.0.1:8080', server.url);
}

const unknownUserMessage = async () => json(await ask(server, '/b/api/username/nobody')).message as string;

const OPTIONS = ['--allowImportingTsExtensions', '--lib', 'es2024,dom'];

/** What the compiler says of this code beside what is in the folder. */
function check(folder: string, file: string, code: string): Promise<string> {
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, file), code);
  return compile(folder, [file], ...OPTIONS, '--jsx', 'react-jsx');
}

describeInBrowser('the recipe for a page', (eye) => {
  async function show(page: string, expected?: RegExp) {
    const site = await startSite((request, response) =>
      request.url === '/'
        ? response
            .setHeader('content-type', 'text/html; charset=utf-8')
            .end(`<!doctype html><title>x</title><link rel="icon" href="data:,">${page}`)
        : response.writeHead(404).end(),
    );
    const opened = await eye.open(site.url, { origins: [server.url], ...(expected && { expected }) });
    await opened.locator('#name', { hasText: /./ }).waitFor();
    const [name, work] = [
      await opened.locator('#name').innerText(),
      await opened.locator('#work li').allInnerTexts(),
    ];
    return { name, work };
  }

  test('shows the profile and the work, on another origin', async () => {
    const { name, work } = await show(block('Fetch in a page', 'html'));
    expect(name).toBe('Ada Lindqvist');
    expect(work.length).toBe(15);
    expect(work[0]).toBe('Kartblad till barnen');
  });

  test('shows the error message for an unknown user', async () => {
    const page = block('Fetch in a page', 'html').replace("'ada'", "'nobody'");
    expect(await show(page, /status of 404/)).toEqual({
      name: await unknownUserMessage(),
      work: [],
    });
  });
});

describeInBrowser('the recipes for a card', (eye) => {
  test('show it by script, by a link without one, and as an image', async () => {
    const card = block('A card on any page', 'html');
    const markdown = block('A card where no script runs', 'md');
    const [, alt, image, link] = /\[!\[(.*?)\]\((.*?)\)\]\((.*?)\)/.exec(markdown) ?? [];
    const html = `<!doctype html><title>x</title><link rel="icon" href="data:,">${card}<a href="${link}"><img alt="${alt}" src="${image}"></a>`;
    const site = await startSite((_request, response) =>
      response.setHeader('content-type', 'text/html; charset=utf-8').end(html),
    );
    const page = await eye.open(site.url, { origins: [server.url] });
    await page.locator('vitrine-profile .content .name', { hasText: 'Ada Lindqvist' }).waitFor();
    expect(await page.locator('vitrine-profile > a').isVisible()).toBe(false);
    await page.waitForFunction('document.querySelector("img").naturalWidth === 440');
    const plain = await eye.open(site.url, { javaScriptEnabled: false, origins: [server.url] });
    expect(await plain.locator('vitrine-profile > a').isVisible()).toBe(true);
    expect((await fetch(link as string)).status).toBe(200);
  });
});

describeInBrowser('the recipe for a status page', (eye) => {
  test('says that the site is up, and with which status it is down', async () => {
    const page = block('A status page', 'html');
    const statusOf = async (html: string) => {
      const site = await startSite((_request, response) =>
        response
          .setHeader('content-type', 'text/html; charset=utf-8')
          .end(`<!doctype html><title>x</title><link rel="icon" href="data:,">${html}`),
      );
      const opened = await eye.open(site.url, { origins: [server.url], expected: /status of 404/ });
      const status = opened.locator('#status', { hasNotText: 'asking' });
      await status.waitFor();
      return await status.innerText();
    };
    expect(await statusOf(page)).toMatch(/^up, \d+ ms$/);
    expect(await statusOf(page.replace('username/ada', 'username/nobody'))).toBe('down (404)');
  });
});

describe.skipIf(skipWithout('nginx'))('the recipe for robots', () => {
  test('answers them, and refuses those that are named', async () => {
    const port = await freePort();
    const [answer = '', refusal = ''] = [
      ...section(GUIDE, 'robots.txt and AI crawlers').matchAll(/^```nginx\n(.*?)^```/gms),
    ].map(([, code = '']) => code);
    await runNginx(`server { listen 127.0.0.1:${port}; ${answer}${refusal} location / { return 204; } }`, [
      port,
    ]);
    const get = (path: string, agent: string) =>
      fetch(`http://127.0.0.1:${port}${path}`, { headers: { 'user-agent': agent } });
    expect(await (await get('/robots.txt', 'x')).text()).toMatch(/User-agent: GPTBot\n.*Disallow: \/\n/s);
    expect([(await get('/', 'GPTBot/1.0')).status, (await get('/', 'Firefox')).status]).toEqual([403, 204]);
  });
});

describe('the recipe', () => {
  test('for feeds names feeds that are served', async () => {
    const types = block('Link previews and feeds', 'html').matchAll(/type="(.*?)" href="(.*?)"/g);
    for (const [, type = '', href = ''] of types)
      expect((await fetch(href)).headers.get('content-type')).toContain(type);
  });

  /** The example, with the types of this file in the place of the package's. */
  const example = (types: string) =>
    codeBlock(GUIDE, 'React, Vue, TypeScript', 'ts').replace(/^import .*$/m, types);

  async function expectFit(folder: string, types: string): Promise<void> {
    const code = example(types);
    expect(await check(folder, 'load.ts', code.replaceAll('items.Shots', 'items.Posts'))).toMatch(/Posts/);
    expect(await check(folder, 'load.ts', code)).toBe('');
  }

  test('for types: the example compiles with those of a server', async () => {
    const [curl, option, file = '', url = ''] = block('React, Vue, TypeScript', 'sh').trim().split(' ');
    expect({ curl, option }).toEqual({ curl: 'curl', option: '-o' });
    const folder = tempFolder();
    writeFileSync(join(folder, file), await (await fetch(url)).text());
    await expectFit(folder, `import type { ApiError, ItemsB, PortfolioProfile } from './${file}';`);
  });

  test('for types: and with those that openapi-typescript makes', async () => {
    const [, tool = '', url = ''] = /`npx (\S+) (\S+)`/.exec(readFileSync(join(ROOT, GUIDE), 'utf8')) ?? [];
    const folder = tempFolder();
    await npmInstall(folder, `${tool}@7.13.0`);
    await npm(
      folder,
      'exec',
      '--',
      tool,
      url.replace('http://127.0.0.1:8080', server.url),
      '-o',
      'vitrine.d.ts',
    );
    await expectFit(
      folder,
      `import type { components } from './vitrine.d.ts';
      type ApiError = components['schemas']['ApiError'];
      type ItemsB = components['schemas']['ItemsB'];
      type PortfolioProfile = components['schemas']['PortfolioProfile'];`,
    );
  });

  test('for types of the card compiles, and wrong attributes do not', async () => {
    const folder = tempFolder();
    const [, url = ''] = /curl -o embed\.d\.ts (\S+)/.exec(block('A card on any page', 'sh')) ?? [];
    writeFileSync(join(folder, 'embed.d.ts'), await (await fetch(url)).text());
    // As much of React's types as this takes.
    const react = 'export namespace JSX { interface IntrinsicElements {} }';
    mkdirSync(join(folder, 'node_modules/react'), { recursive: true });
    const exports = '{ "exports": { "./jsx-runtime": "./index.d.ts", ".": "./index.d.ts" } }';
    writeFileSync(join(folder, 'node_modules/react/package.json'), exports);
    writeFileSync(join(folder, 'node_modules/react/index.d.ts'), react);
    const code = block('A card on any page', 'tsx');
    expect(await check(folder, 'card.tsx', code)).toBe('');
    expect(await check(folder, 'card.tsx', code.replace('user={user}', 'user={7}'))).toMatch(/TS2322/);
  });

  test('for types names every type', async () => {
    const { components } = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
      components: { schemas: object };
    };
    for (const name of Object.keys(components.schemas)) expect(readPage(GUIDE)).toContain(`\`${name}\``);
  });
});
