// The API reference page in a browser: its content, its forms, and its accessibility.
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import {
  accessibilityFaults,
  DESKTOP,
  describeInBrowser,
  overhang,
  PHONE,
  startPrefixed,
} from '../../support/browser.ts';
import { freePort } from '../../support/free-port.ts';
import { ask, json } from '../../support/http.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

const REFUSED = /status of 4\d\d/;

describeInBrowser('the API reference', (eye) => {
  let server: LocalServer;
  beforeAll(async () => {
    server = await serveHere();
  });

  async function open(
    visit: Parameters<typeof eye.open>[1] = {},
    address = `${server.url}/docs`,
  ): Promise<Page> {
    const page = await eye.open(address, visit);
    await page.locator('.operation').first().waitFor();
    return page;
  }

  /** Submits an operation's form and returns the status shown. */
  async function send(page: Page, operation: string, values: Record<string, string> = {}) {
    const article = page.locator(`#${operation}`);
    for (const [name, value] of Object.entries(values)) {
      const field = article.locator(`form [name='${name}']`);
      if ((await field.getAttribute('list')) === null && name === 'post') await field.selectOption(value);
      else await field.fill(value);
    }
    await article.locator('.status-line strong').evaluateAll((before) => {
      for (const one of before) one.setAttribute('data-before', '');
    });
    await article.getByRole('button', { name: 'Send', exact: true }).click();
    const now = article.locator('.status-line strong:not([data-before])').filter({ hasNotText: 'Loading…' });
    return { status: await now.innerText(), article };
  }

  test('shows every operation, record and error of the document', async () => {
    const page = await open();
    const { paths, components } = json(await ask(server, '/openapi.json'));
    const routes = await page.locator('.operation .route').allInnerTexts();
    expect(routes).toEqual(Object.keys(paths).map((path) => `GET ${path}`));
    for (const [name, { properties }] of Object.entries<{ properties: object }>(components.schemas)) {
      const members = await page.locator(`#record-${name} tbody th code`).allInnerTexts();
      expect(members).toEqual(Object.keys(properties));
    }
    const errors = await page.locator('#errors').innerText();
    for (const code of ['USER_MISSING', 'USER_NOT_FOUND', 'RATE_LIMITED', 'NOT_READY'])
      expect(errors).toContain(code);
    const overview = await page.locator('#overview').innerText();
    expect(overview).toContain(`curl -o vitrine.d.ts ${server.url}/types.d.ts`);
  });

  test.each(['/docs', '/docs/api', '/docs/recipes', '/docs/errors'])(
    'every link of %s has a target',
    async (path) => {
      const page = await eye.open(server.url + path);
      const links = await page
        .locator('a')
        .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
      expect(links.length).toBeGreaterThan(10);
      for (const href of new Set(links)) {
        const { origin, pathname, hash } = new URL(href, server.url + path);
        // Guides also name standards and other programs.
        if (origin.startsWith('https:')) continue;
        const { status, body } = await ask(server, pathname);
        expect({ href, origin, status }).toEqual({ href, origin: server.url, status: 200 });
        if (hash !== '') expect([href, body.includes(`id="${hash.slice(1)}"`)]).toEqual([href, true]);
      }
    },
  );

  test('guides name the address they were read at, and fit a phone at 200% text', async () => {
    const page = await eye.open(`${server.url.replace('127.0.0.1', 'localhost')}/docs/recipes`);
    await page.locator('#fetch-in-a-page pre', { hasText: "'http://localhost:" }).waitFor();
    expect(await page.getByText('127.0.0.1:8080').count()).toBe(0);
    expect(await page.locator('#fetch-in-a-page .copy').count()).toBe(1);
    for (const path of ['/docs/recipes', '/docs/api', '/docs/errors', '/docs', '/']) {
      const phone = await eye.open(server.url + path, { viewport: PHONE });
      expect(await accessibilityFaults(phone)).toEqual([]);
      expect(await overhang(phone)).toBe(0);
      await phone.evaluate("document.documentElement.style.fontSize = '200%'");
      expect([path, await overhang(phone)]).toEqual([path, 0]);
    }
  });

  test.each([
    ['getProfileOrItemsA', { user: 'ada', post: 'true' }, '/a/api/?user=ada&post=true', '"posts"'],
    ['getProfileOrItemsA', { user: 'Zoë' }, '/a/api/?user=Zo%C3%AB', '"totalFavs"'],
    ['getItemsB', { username: "o'neill" }, '/b/api/username/o%27neill/shots', '"Shots"'],
    ['getItemsC', { username: 'ada' }, '/c/api/username/ada/shots', '"Posts"'],
  ])('%s with %o can be sent, and sent again with its ETag', async (operation, values, address, member) => {
    const page = await open();
    const { status, article } = await send(page, operation, values as Record<string, string>);
    expect(status).toBe('200 OK');
    expect(await article.locator('.address').innerText()).toBe(`GET ${address}`);
    expect(await article.locator('.status-line').innerText()).toMatch(/\d ms · [\d.]+ K?B/);
    expect(await article.locator('.headers').textContent()).toMatch(/cache-control.+etag/s);
    expect(await article.locator('.json').innerText()).toContain(member);

    await article.getByRole('button', { name: 'Send again with this ETag' }).press('Enter');
    await expect.poll(() => article.locator('.status-line strong').innerText()).toBe('304 Not Modified');
    // A screen reader hears it.
    await expect.poll(() => article.getByRole('status').textContent()).toBe('304 Not Modified');
    // The button is gone; whoever pressed it by a key goes on from here.
    expect(await page.locator(':focus').innerText()).toContain('304 Not Modified');
    expect(await article.locator('.json').count()).toBe(0);
  });

  test('the code follows the form', async () => {
    const page = await open();
    const form = page.locator('#getProfileOrItemsA form');
    const code = page.locator('#getProfileOrItemsA .languages pre:visible');
    const first = await form.locator("[name='user']").inputValue();
    expect(await code.innerText()).toContain(`/a/api/?user=${first}'`);
    await form.locator("[name='user']").fill("o'neill");
    await form.locator("[name='post']").selectOption('true');
    await form.locator("[name='If-None-Match']").fill('"it\'s"');
    expect(await code.innerText()).toContain(
      `curl -i '${server.url}/a/api/?user=o%27neill&post=true' \\\n  -H 'If-None-Match: "it'\\''s"'`,
    );
  });

  test('request and responses stand beside each operation, and what was sent takes their place', async () => {
    const page = await open({ viewport: { width: 1440, height: 900 } });
    for (const operation of await page.locator('.operation').all()) {
      const left = await operation.locator('table').first().boundingBox();
      const beside = ['.languages pre:visible', '.statuses pre:visible'];
      for (const part of beside) {
        const box = await operation.locator(part).first().boundingBox();
        expect(box?.x).toBeGreaterThan((left?.x ?? 0) + (left?.width ?? 0));
      }
    }
    const statuses = page.locator('#getItemsB .statuses');
    expect(await statuses.locator('label').allInnerTexts()).toEqual(
      '200 304 400 404 408 414 417 429 431 500 503'.split(' '),
    );
    await statuses.getByLabel('400').check();
    expect(await statuses.locator('.panels').innerText()).toMatch(/USER_MALFORMED.*"statusCode": "400"/s);
    await statuses.getByLabel('304').check();
    expect(await statuses.locator('.panels').innerText()).toContain('there is no body');
    const { article } = await send(page, 'getItemsB');
    expect(await article.locator('.result').isVisible()).toBe(true);
    expect(await statuses.getByLabel('Sent').isChecked()).toBe(true);
    await statuses.getByLabel('200').check();
    expect(await article.locator('.result').isVisible()).toBe(false);
  });

  test('printed, each choice names only what is shown', async () => {
    const page = await open();
    await page.emulateMedia({ media: 'print' });
    const article = page.locator('#getItemsB');
    expect(await article.locator('.tabs > label:visible').allInnerTexts()).toEqual(['curl', '200']);
    expect(await article.getByRole('button', { name: 'Copy' }).locator('visible=true').count()).toBe(0);
  });

  test('each member of a body and each error can be linked to', async () => {
    const page = await open({}, `${server.url}/docs#Shot.price_item`);
    expect(await page.locator('tr:target').innerText()).toContain('price_item');
    await page.getByRole('link', { name: 'Link to “RATE_LIMITED”' }).click();
    expect(await page.locator('tr:target').innerText()).toContain('RATE_LIMITED');
  });

  test('the contents mark what is being read', async () => {
    const page = await open();
    const contents = page.locator('.contents');
    await contents.getByRole('link', { name: 'Shot', exact: true }).click();
    await contents.locator('[aria-current]', { hasText: 'Shot' }).waitFor();
    await page.evaluate('document.getElementById("errors").scrollIntoView()');
    await contents.locator('[aria-current]', { hasText: 'Errors' }).waitFor();
  });

  test('without scripts everything can be read, and nothing is shown that does not work', async () => {
    const page = await open({ javaScriptEnabled: false });
    expect(await page.locator('#getItemsB .statuses pre:visible').innerText()).toContain('"Shots": [');
    await page.locator('#getItemsB .languages').getByRole('radio', { name: 'PHP' }).check();
    expect(await page.locator('#getItemsB .languages pre:visible').innerText()).toContain(
      'file_get_contents',
    );
    expect(await page.locator('form, button').filter({ visible: true }).count()).toBe(0);
    for (const heading of await page.locator('.heading').all()) {
      const link = heading.locator('.permalink');
      const target = page.locator((await link.getAttribute('href')) as string);
      expect(await target.locator('.heading').first().innerText()).toBe(await heading.innerText());
    }
  });

  test('an error response is shown in full', async () => {
    const page = await open({ expected: REFUSED });
    const { status, article } = await send(page, 'getProfileB', {
      username: 'nobody <img src=x onerror=alert(1)>',
    });
    expect(status).toBe('404 Not Found');
    expect(await article.locator('.json').innerText()).toContain('"USER_NOT_FOUND"');
    expect((await send(page, 'getProfileB', { username: '' })).status).toBe('400 Bad Request');
    expect((await send(page, 'getProfileB', { username: '..' })).status).toMatch(/cannot request/);
  });

  test('a picture is named, not shown as text', async () => {
    const page = await open();
    await page.route('**/username/ada', (route) => route.fulfill({ contentType: 'image/png', body: 'PNG' }));
    const { article } = await send(page, 'getProfileB', { username: 'ada' });
    expect(await article.locator('.result').innerText()).toContain(
      'The body is a file of the type image/png.',
    );
  });

  test('a stopped server is reported, and requests work again when it is back', async () => {
    const mortal = await serveHere({ PORT: String(await freePort()) });
    const page = await open({ expected: /ERR_CONNECTION/ }, `${mortal.url}/docs`);
    await mortal.stop();
    expect((await send(page, 'getProfileC')).status).toMatch(/^No response/);
    await serveHere({ PORT: String(mortal.port) });
    expect((await send(page, 'getProfileC')).status).toBe('200 OK');
  });

  test('works by keyboard', async () => {
    const page = await open();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the reference');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    const reached = `document.activeElement.closest('#getItemsC') !== null && document.activeElement.name === 'username'`;
    for (let steps = 0; steps < 200 && !(await page.evaluate(reached)); steps++)
      await page.keyboard.press('Tab');
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type('Zoë');
    await page.keyboard.press('Enter');
    await page.locator('#getItemsC .status-line', { hasText: '200 OK' }).waitFor();
    expect(await page.locator('#getItemsC form [role=status]').innerText()).toBe('200 OK');
  });

  test.each([DESKTOP, PHONE])('is accessible at $width px, light and dark', async (viewport) => {
    const page = await open({ viewport, expected: REFUSED });
    await send(page, 'getItemsB');
    await send(page, 'getProfileOrItemsA', { user: 'nobody' });
    await page
      .locator('details')
      .evaluateAll((all) => all.forEach((fold) => void fold.setAttribute('open', '')));
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await overhang(page)).toBe(0);
      expect([colorScheme, await accessibilityFaults(page)]).toEqual([colorScheme, []]);
    }
  });

  test('behind a proxy that removes a prefix', async () => {
    const prefix = '/deep/down';
    const site = await startPrefixed(prefix, server.port);
    const page = await open({}, `${site.url}${prefix}/docs`);
    const { status, article } = await send(page, 'getItemsB');
    expect([status, await article.locator('.address').innerText()]).toEqual([
      '200 OK',
      `GET ${prefix}/b/api/username/ada/shots`,
    ]);
  });

  test('requests go to this server and to variants on their own hosts only', async () => {
    const elsewhere = await serveHere({});
    const site = await serveHere({ BASE_URL_B: `http://localhost:${elsewhere.port}/b` });
    const page = await open({ origins: [`http://localhost:${elsewhere.port}`] }, `${site.url}/docs`);
    const { status, article } = await send(page, 'getProfileB');
    expect([status, await article.locator('.address').innerText()]).toEqual([
      '200 OK',
      `GET http://localhost:${elsewhere.port}/b/api/username/ada`,
    ]);
    expect((await ask(server, '/docs')).headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
  });
});
