// The explorer in a browser: all variants, both colour schemes, phone and keyboard, hostile data, failing servers.
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page, Route } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  accessibilityFaults,
  DESKTOP,
  describeInBrowser,
  overhang,
  PHONE,
  startPrefixed,
} from '../../support/browser.ts';
import { databaseOf } from '../../support/database.ts';
import { ndjson, tempFile, tempFolder, ugly } from '../../support/files.ts';
import { freePort } from '../../support/free-port.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

const NOT_FOUND = /status of 404/;
const FIRST = { id: '3', username: 'first', name: 'The First', totalShots: '0' };

const status = (page: Page) => page.locator('.status-line strong');
const heading = (page: Page) => page.locator('#profile :is(h1, h2)').first();
const show = async (page: Page, user: string) => {
  await page.getByLabel('User name').fill(user);
  await page.getByRole('button', { name: 'Show' }).click();
};
const textOf = async (locator: Locator) => (await locator.textContent()) ?? '';
/** Waits until the locator's text matches. */
const waitForText = (locator: Locator, text: string | RegExp) =>
  locator.filter({ hasText: text }).first().waitFor();

describeInBrowser('the explorer', (eye) => {
  let server: LocalServer;
  beforeAll(async () => {
    server = await serveHere();
  });

  /** Opens the portfolio of a sample user, and waits until it is shown. */
  async function openAda(visit: Parameters<typeof eye.open>[1] = {}): Promise<Page> {
    const page = await eye.open(`${server.url}/?variant=b&user=ada`, visit);
    await waitForText(heading(page), 'Ada');
    return page;
  }

  test('with a directory, the field suggests users by name, and the list has a search', async () => {
    const listed = await serveHere({ DIRECTORY: 'on' });
    const page = await eye.open(`${listed.url}/explore?variant=b&user=ada`, { expected: NOT_FOUND });
    await waitForText(heading(page), 'Ada');
    await page.getByLabel('User name').fill('lindq');
    await page.locator('#names option[value=ada][label="Ada Lindqvist"]').waitFor({ state: 'attached' });
    expect(await page.locator('#names option').count()).toBe(1);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL('**/explore?variant=b&user=lindq');
    await page.locator('#profile').getByRole('link', { name: 'ada', exact: true }).click();
    await page.waitForURL('**/explore?variant=b&user=ada');
    for (const { viewport, colorScheme } of [
      { viewport: PHONE, colorScheme: 'dark' },
      { viewport: DESKTOP, colorScheme: 'light' },
    ] as const) {
      const list = await eye.open(`${listed.url}/`, { viewport, colorScheme });
      expect([await accessibilityFaults(list), await overhang(list)]).toEqual([[], 0]);
      await list.getByRole('searchbox').fill('LINDQ');
      await list.keyboard.press('Enter');
      await list.waitForURL('**/people/*?q=LINDQ');
      expect(await accessibilityFaults(list)).toEqual([]);
      expect(await list.getByRole('link', { name: 'Ada Lindqvist' }).count()).toBe(1);
    }
  });

  test('with serve --rehearse, buttons send the request again, slow, failing or empty', async () => {
    const rehearsed = await serveHere({}, ['--rehearse']);
    const page = await eye.open(`${rehearsed.url}/?variant=b&user=ada&show=items`, {
      expected: /status of (4|5)\d\d|ERR_CONNECTION_RESET/,
    });
    await waitForText(heading(page), 'Ada');
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    const wanted: [button: string, status: string | RegExp, title: string][] = [
      ['delay 2 s', '200 OK', 'Ada'],
      ['404', '404 Not Found', 'There is nothing here'],
      ['410', '410 Gone', 'This was removed'],
      ['429', '429 Too Many Requests', 'Too Many Requests'],
      ['500', '500 Internal', 'Internal Server Error'],
      ['503', '503 Service Unavailable', 'Service Unavailable'],
      ['empty', '200 OK', 'Ada'],
      ['reset', 'No response', 'No response'],
    ];
    for (const [button, outcome, title] of wanted) {
      await press(button);
      await waitForText(status(page), outcome);
      await waitForText(heading(page), title);
    }
    await press('empty');
    await waitForText(page.locator('.request-line'), 'X-Rehearse: empty');
    await waitForText(page.locator('#response'), /Shots.*\[\]/);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await overhang(page)).toBe(0);
  });

  test.each([
    { variant: 'a', user: 'mo farouk', name: 'محمد فاروق', items: 15, colorScheme: 'dark', viewport: PHONE },
    { variant: 'b', user: 'ada', name: 'Ada Lindqvist', items: 15, colorScheme: 'dark', viewport: DESKTOP },
    { variant: 'c', user: '林晓', name: '林晓', items: 15, colorScheme: 'light', viewport: PHONE },
  ] as const)(
    'variant $variant, $user, $colorScheme, $viewport.width px',
    async ({ variant, user, name, items, ...look }) => {
      const page = await eye.open(`${server.url}/?variant=${variant}&user=${encodeURIComponent(user)}`, look);
      await waitForText(heading(page), name);
      expect(await page.locator('.gallery > li, .timeline > li').count()).toBe(items);
      expect(await textOf(status(page))).toBe('200 OK');
      expect(await page.getByLabel('User name').inputValue()).toBe(user);
      expect(await overhang(page)).toBe(0);
      expect(await accessibilityFaults(page, ['target-size'])).toEqual([]);
      // The profile's pictures have loaded, from this server.
      await page.waitForFunction(
        "[...document.querySelectorAll('.plinth img, .cover img')].every((image) => image.complete && image.naturalWidth > 0)",
      );
      expect(await page.locator('.plinth img').getAttribute('src')).toContain(
        `${server.url}/samples/avatar-`,
      );
      // The JSON is shown as served: picture addresses are not rewritten.
      expect(await textOf(page.locator('.json'))).toContain('"http://127.0.0.1:8080/samples/avatar-');
    },
  );

  test('without scripts leads to the pages of people', async () => {
    const page = await eye.open(`${server.url}/`, { javaScriptEnabled: false });
    expect(await page.locator('.skeleton, #choose, #request').locator('visible=true').count()).toBe(0);
    await page.getByRole('link', { name: 'ada, portfolio' }).first().click();
    expect(await page.locator('h1').innerText()).toBe('Ada Lindqvist');
  });

  test('the request panel shows and copies the real request and response', async () => {
    const page = await eye.open(`${server.url}/?variant=b&user=o%27neill&show=items`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await waitForText(heading(page), 'Saoirse');
    const address = `${server.url}/b/api/username/o%27neill/shots`;
    const response = await fetch(address);
    const body = Buffer.from(await response.arrayBuffer());
    expect(await textOf(page.locator('.address'))).toBe('GET /b/api/username/o%27neill/shots');
    await page.getByText('Response headers').click();
    expect(await page.locator('.headers').innerText()).toContain(response.headers.get('etag'));
    expect(await textOf(page.locator('.status-line'))).toContain(`${(body.length / 1024).toFixed(1)} KB`);
    for (const [name, line] of [
      ['the address', address],
      ['the body', body.toString()],
      ['the code', `curl -i '${address}'`],
    ] as const) {
      await page.getByRole('button', { name: `Copy ${name}` }).click();
      await waitForText(page.getByRole('status'), 'copied');
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(line);
    }
    await page.getByRole('button', { name: 'Send again' }).click();
    await waitForText(page.locator('.status-line'), /304 Not Modified.* 0 B/);
    await waitForText(page.getByRole('status'), '304 Not Modified');
  });

  test('the code is shown in five languages, and all pages remember the chosen one', async () => {
    const page = await eye.open(`${server.url}/?variant=c&user=ada&show=items`);
    await waitForText(heading(page), 'Ada');
    const languages = page.locator('#request-code');
    const code = languages.locator('pre:visible');
    for (const [language, words] of [
      ['PHP', 'file_get_contents('],
      ['Python', 'urlopen(request)'],
      ['fetch', 'const { Posts: shots } = await response.json();'],
    ] as const) {
      await languages.getByLabel(language, { exact: true }).check();
      await waitForText(code, words);
      expect(await textOf(code)).toContain(`${server.url}/c/api/username/ada/shots`);
    }
    await languages.getByLabel('fetch', { exact: true }).press('ArrowRight');
    await show(page, 'elodie');
    await waitForText(heading(page), 'Élodie');
    await waitForText(code, '/c/api/username/elodie/shots');
    expect(await textOf(code)).toContain("import type { ItemsC } from 'vitrine/types';");
    expect(await textOf(code)).toContain('const { Posts: shots }: ItemsC = await response.json();');
    await page.goto(`${server.url}/docs`);
    const typed = page.locator('.languages pre:visible').first();
    await waitForText(typed, 'const body: MicroblogProfile | ItemsA = await response.json();');
  });

  test('tells in five seconds what it is, and copies the lines that load own data', async () => {
    for (const viewport of [DESKTOP, { width: 320, height: 740 }]) {
      const page = await eye.open(server.url, {
        viewport,
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      await waitForText(heading(page), 'Ada');
      for (const part of [
        page.getByRole('heading', { level: 1, name: 'Your users’ public profiles as a JSON API' }),
        page.getByText('A: microblogs, with profiles and posts. B and C: design portfolios'),
        page.getByRole('heading', { name: 'Load your own data' }),
      ])
        expect(((await part.boundingBox())?.y ?? Infinity) < viewport.height / 2).toBe(true);
      await page.getByRole('button', { name: 'Copy the two lines' }).click();
      await waitForText(page.getByRole('status'), 'copied');
      const copied = (await page.evaluate('navigator.clipboard.readText()')) as string;
      expect(copied.split('\n')).toHaveLength(2);
      expect(copied).toMatch(/^echo .*"username":"mira".*\nnpm start -- people.ndjson$/);
    }
  });

  test('Back and Forward restore the state of the URL, and the last view is remembered', async () => {
    const page = await eye.open(`${server.url}/`);
    await waitForText(heading(page), 'Ada Lindqvist');
    await page.getByLabel('C portfolio').check();
    await page.waitForURL('**/?variant=c&user=ada');
    await page.getByLabel('User name').fill('lucia_r');
    await page.keyboard.press('Enter');
    await waitForText(heading(page), 'Lucía');
    for (const [move, user, name] of [
      ['goBack', 'ada', 'Ada'],
      ['goForward', 'lucia_r', 'Lucía'],
    ] as const) {
      await page[move]();
      await waitForText(heading(page), name);
      expect(await page.getByLabel('User name').inputValue()).toBe(user);
      expect(await textOf(page.locator('.address'))).toBe(`GET /c/api/username/${user}`);
      expect(await page.evaluate('document.activeElement.id')).toBe('user');
    }
    await page.getByLabel('Shots').check();
    await page.waitForURL('**/?variant=c&user=lucia_r&show=items');
    expect(await textOf(page.locator('.address'))).toBe('GET /c/api/username/lucia_r/shots');
    await page.goto(`${server.url}/`);
    await waitForText(heading(page), 'Lucía');
    expect(await page.getByLabel('C portfolio').isChecked()).toBe(true);
  });

  test('works by keyboard, with a visible focus', async () => {
    const page = await openAda();
    const focused = () =>
      page.evaluate(
        "(document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent ?? '').trim()",
      );
    const outlined = () =>
      page.evaluate(
        "((e) => getComputedStyle(e.matches('input[type=radio]') ? e.parentElement : e).outlineStyle)(document.activeElement)",
      );
    const tabTo = async (selector: string) => {
      for (let presses = 0; presses < 60; presses++) {
        await page.keyboard.press('Tab');
        if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`))
          return expect(await outlined()).toBe('solid');
      }
      throw new Error(`Tab does not reach ${selector}; it stopped at ${await focused()}`);
    };
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the profile');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the request');
    await tabTo('[name=variant]:checked');
    await page.keyboard.press('ArrowLeft');
    await page.waitForURL('**/?variant=a&user=ada');
    await waitForText(page.locator('.address'), 'GET /a/api/?user=ada');
    await tabTo('#user');
    await page.keyboard.type('elodie');
    await page.keyboard.press('Enter');
    await waitForText(heading(page), 'Élodie Marchand');
    await tabTo('.secondary');
    await page.keyboard.press('Enter');
    await waitForText(status(page), '304 Not Modified');
    expect(await page.locator('.json').count()).toBe(0);
    await page.reload();
    await waitForText(heading(page), 'Élodie Marchand');
    const open = page.locator('.json details[open]');
    await tabTo('.json summary');
    await page.keyboard.press('Enter');
    expect(await open.count()).toBe(0);
    await page.goto(`${server.url}/?variant=c&user=ada&show=items`);
    await waitForText(heading(page), 'Ada');
    expect([await page.locator('.json details').count(), await open.count()]).toEqual([17, 3]);
    await page.locator('.json details:not([open]) > summary').first().click();
    expect(await open.count()).toBe(4);
    await page.getByRole('link', { name: 'Skip to the request' }).press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('request');
  });

  test('an unknown user name gets a notice with other names', async () => {
    const page = await eye.open(`${server.url}/?variant=b&user=luica_r`, { expected: NOT_FOUND });
    await waitForText(heading(page), 'No user named “luica_r”');
    expect(await textOf(status(page))).toBe('404 Not Found');
    expect(await textOf(page.locator('#status'))).toBe('No user named “luica_r”');
    expect(await textOf(page.locator('.json'))).toContain('USER_NOT_FOUND');
    expect(await page.locator('#card').isVisible()).toBe(false);
    expect(await accessibilityFaults(page)).toEqual([]);
    // Only those who are called nearly so.
    expect(await page.locator('#profile .suggestions a').allTextContents()).toEqual(['lucia_r']);
    await page.locator('#profile').getByRole('link', { name: 'lucia_r' }).click();
    await page.waitForURL('**/?variant=b&user=lucia_r');
    await waitForText(heading(page), 'Lucía');
  });

  test('an invalid user name shows the message of the API', async () => {
    const page = await eye.open(`${server.url}/?variant=a&user=`, { expected: /status of 4/ });
    await waitForText(heading(page), 'Bad Request');
    expect(await textOf(status(page))).toBe('400 Bad Request');
    const { message } = (await (await fetch(`${server.url}/a/api/?user=`)).json()) as { message: string };
    expect(await textOf(page.locator('.notice'))).toContain(message);
    expect(await accessibilityFaults(page)).toEqual([]);
    await show(page, 'x'.repeat(300));
    await waitForText(status(page), '414');
    await page.getByLabel('B portfolio').check();
    for (const steps of ['..', '.']) {
      await show(page, steps);
      await waitForText(heading(page), 'Browsers cannot request this name');
    }
  });

  test('a 200 without a profile is reported, a 503 shows Retry-After, and Try again works', async () => {
    const page = await openAda({ expected: /status of 503/ });
    const answer = (response: Parameters<Route['fulfill']>[0]) =>
      page.route('**/api/**', (route) => route.fulfill(response));
    const again = page.getByRole('button', { name: 'Try again' });
    await answer({ contentType: 'text/html', body: '<h1>Welcome to the proxy' });
    await show(page, 'elodie');
    await waitForText(heading(page), 'Unexpected response');
    expect(await again.count()).toBe(0);
    expect(await textOf(page.locator('#response'))).toContain('<h1>Welcome to the proxy');
    const json = { code: 'OVERLOADED', error: 'Service Unavailable', message: 'Too busy.' };
    await answer({ status: 503, headers: { 'retry-after': '7' }, json });
    await show(page, 'elodie');
    await waitForText(heading(page), 'Service Unavailable');
    expect(await textOf(page.locator('.notice'))).toContain('in 7 s');
    await page.unroute('**/api/**');
    await again.click();
    await waitForText(heading(page), 'Élodie');
  });

  test('after a restart with other data, the user shown before is not asked for', async () => {
    const first = await serveHere({ PORT: String(await freePort()) });
    const page = await eye.open(`${first.url}/?variant=b&user=ada`, {
      expected: /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/,
    });
    await waitForText(heading(page), 'Ada');
    await first.stop();
    await show(page, 'elodie');
    await waitForText(heading(page), 'No response');
    expect(await textOf(status(page))).toContain('No response');
    expect(await accessibilityFaults(page)).toEqual([]);
    const PORT = String(first.port);
    const second = await serveHere({ PORT });
    await page.getByRole('button', { name: 'Try again' }).click();
    await waitForText(heading(page), 'Élodie');
    await second.stop();
    await serveHere({ PORT, DATABASE_URL: await databaseOf(FIRST) });
    await page.goto(first.url);
    await waitForText(heading(page), FIRST.name);
    expect(await page.getByLabel('B portfolio').isChecked()).toBe(true);
  });

  describe('with a database', () => {
    const FAR = {
      id: '5',
      username: 'far',
      name: 'Far Away',
      avatar: 'https://pictures.example/far.png',
      totalShots: '0',
      website: 'https://far.example/',
    };
    let own: LocalServer;
    beforeAll(async () => {
      const database = await databaseOf(ugly('hostile-texts.ndjson'), FAR);
      own = await serveHere({ DATABASE_URL: database, IMAGE_HOSTS: 'none' });
    });

    test.each(['a', 'c'])('markup in texts has no effect in variant %s', async (variant) => {
      const page = await eye.open(`${own.url}/?variant=${variant}&user=texts&show=items`);
      await waitForText(
        heading(page),
        variant === 'a' ? '</script><script>alert(1)</script>' : '"><svg onload=alert(1)>',
      );
      expect(await page.locator('.gallery > li, .timeline > li').count()).toBe(15);
      expect(
        await page
          .locator('#profile script, #profile [onload], #profile [onerror], #request script, #profile svg')
          .count(),
      ).toBe(0);
      const links = (await page.evaluate(
        "[...document.querySelectorAll('#profile a')].map(({ protocol }) => protocol)",
      )) as string[];
      for (const protocol of links) expect(protocol).toMatch(/^https?:$/);
      expect(await overhang(page)).toBe(0);
      expect(await accessibilityFaults(page)).toEqual([]);
    });

    test('initials replace pictures from hosts outside IMAGE_HOSTS, and the page says why', async () => {
      const page = await eye.open(`${own.url}/?variant=b&user=far`);
      await waitForText(heading(page), 'Far Away');
      expect(await textOf(page.locator('.plinth .initials'))).toBe('FA');
      expect(await textOf(page.locator('.source'))).toContain('pictures.example');
      expect(await textOf(page.locator('.no-items'))).toContain('No shots yet');
      // Users of the data are suggested, and no sample users.
      expect(await page.locator('#people bdi').allTextContents()).toEqual(['far', 'texts']);
    });

    test('a saved file shows at once, with its new users and its time', async () => {
      const file = tempFile('people.ndjson', ndjson(FIRST));
      utimesSync(file, new Date(), new Date(Date.now() - 7_260_000));
      const own = await serveHere({}, [file]);
      const page = await eye.open(own.url);
      await waitForText(heading(page), FIRST.name);
      await page.getByText(/^Served from people.ndjson\. .* Saved on \d+\/\d+\/\d{4}, .*\.$/).waitFor();
      await page.evaluate('window.isSamePage = true');
      writeFileSync(file, ndjson({ ...FIRST, name: 'After' }, { ...FIRST, id: '4', username: 'second' }));
      await waitForText(heading(page), 'After');
      await waitForText(page.locator('#people'), 'second');
      await page.getByText(/^Saved \d+ s ago\.$/).waitFor();
      writeFileSync(file, ndjson({ ...FIRST, bio: 7, id: 'x' }));
      const faults = page.getByRole('alert');
      await waitForText(faults, /What was saved last is not served:.*people\.ndjson:1:.* id: /s);
      await page.getByText(/^Saved on \d+\/\d+\/\d{4}, .*\.$/).waitFor();
      expect(await accessibilityFaults(page)).toEqual([]);
      expect(await overhang(page)).toBe(0);
      writeFileSync(file, ndjson(FIRST));
      await faults.waitFor({ state: 'hidden' });
      expect(await page.evaluate('window.isSamePage')).toBe(true);
      expect(await accessibilityFaults(page)).toEqual([]);
      expect(await overhang(page)).toBe(0);
    });

    test('without data it says how to import it', async () => {
      const empty = await serveHere({ DATABASE_URL: join(tempFolder(), 'none.db') });
      const page = await eye.open(empty.url);
      await waitForText(heading(page), 'No data yet');
      expect(await textOf(page.locator('#profile pre'))).toBe('vitrine import people.ndjson');
      expect(await page.locator('#request').isVisible()).toBe(false);
      expect(await accessibilityFaults(page)).toEqual([]);
    });

    test('without example users or recent users it asks for a name', async () => {
      const DATABASE_URL = await databaseOf(FAR);
      const nameless = await serveHere({ DATABASE_URL, EXAMPLE_USERS: 'none', IMAGE_HOSTS: 'none' });
      const page = await eye.open(`${nameless.url}/?variant=b`);
      await waitForText(heading(page), 'Enter a user name');
      expect(await accessibilityFaults(page)).toEqual([]);
      await show(page, 'far');
      await waitForText(heading(page), 'Far Away');
    });
  });

  describe('at other base addresses', () => {
    test('behind a proxy that adds a prefix', async () => {
      const site = await startPrefixed('/people', server.port);
      const page = await eye.open(`${site.url}/people/?variant=a&user=ada`);
      await waitForText(heading(page), 'Ada');
      expect(await textOf(page.locator('.address'))).toBe('GET /people/a/api/?user=ada');
      expect(await page.locator('.plinth img').getAttribute('src')).toContain('/people/samples/');
      expect(await textOf(page.locator('#snippet'))).toContain(`${site.url}/people/embed.js`);
    });

    test('begins with a variant of this host, and asks no other host', async () => {
      const odd = await serveHere({ BASE_URL_A: 'https://a.example/x', BASE_URL_B: '/', BASE_URL_C: '' });
      const page = await eye.open(`${odd.url}/`);
      await waitForText(heading(page), 'Ada Lindqvist');
      expect(await page.getByLabel('B portfolio').isChecked()).toBe(true);
      expect(await textOf(page.locator('.address'))).toBe('GET /api/username/ada');
      expect(await page.locator('#variants input').count()).toBe(2);
      await page.getByLabel('A microblog').check();
      await waitForText(heading(page), 'Variant A is on another host');
      expect(await textOf(page.locator('.address'))).toBe('GET https://a.example/x/api/?user=ada');
      expect(await accessibilityFaults(page)).toEqual([]);
    });
  });

  test.each(['/?variant=a&user=Amara&show=items', '/?variant=b&user=ada', '/docs'])(
    'nothing of %s overflows on a phone, in fonts of any width',
    async (path) => {
      const page = await eye.open(`${server.url}${path}`, { viewport: PHONE });
      await page.locator('#profile h1, .operation').first().waitFor();
      for (const font of ['sans-serif', 'serif', 'monospace', 'sans-serif; letter-spacing: 0.08em']) {
        await page.evaluate(`{
          const sheet = new CSSStyleSheet();
          // What is off the screen is measured, too.
          sheet.replaceSync('* { content-visibility: visible !important } :root { --sans: ${font.split(';')[0]} } body { ${font.split(';')[1] ?? ''} }');
          document.adoptedStyleSheets = [sheet];
        }`);
        for (const width of [320, 360, 375, 390]) {
          await page.setViewportSize({ width, height: 740 });
          expect([width, font, await overhang(page)]).toEqual([width, font, 0]);
          if (path === '/docs') continue;
          // The page's margin is 16 px; the request panel reaches 8 px into it.
          const outside = await page.evaluate(`[...document.querySelectorAll('.choose *, .top *, .request *')]
            .filter((element) => element.checkVisibility()
              && element.getBoundingClientRect().right > innerWidth - (element.closest('.request') ? 8 : 15.5))
            .map((element) => element.outerHTML.slice(0, 80))`);
          expect({ width, font, outside }).toEqual({ width, font, outside: [] });
        }
      }
    },
  );

  test('a name that exists only in the other family links to that variant', async () => {
    const records = [
      { id: '1', username: 'writer', name: 'A Writer', totalPost: '0' },
      { id: '2', username: 'painter', name: 'A Painter', totalShots: '0' },
    ];
    const own = await serveHere({ DATABASE_URL: await databaseOf(...records) });
    const page = await eye.open(`${own.url}/?variant=b&user=writer`, { expected: NOT_FOUND });
    await waitForText(heading(page), 'No user named “writer”');
    await page.locator('#profile').getByRole('link', { name: 'writer' }).click();
    await page.waitForURL('**/?variant=a&user=writer');
    await waitForText(heading(page), 'A Writer');
    await show(page, 'painter');
    await page.locator('#profile').getByRole('link', { name: 'painter' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await show(page, 'nobody');
    await waitForText(heading(page), 'No user named “nobody”');
  });

  test('a fragment in the URL is scrolled to once its section is shown', async () => {
    const page = await eye.open(`${server.url}/?variant=b&user=ada#card`);
    await waitForText(heading(page), 'Ada');
    await page.waitForFunction(
      "Math.abs(document.getElementById('card').getBoundingClientRect().top) < innerHeight / 2",
    );
  });

  test.each([320, 1280])('code breaks between words only, at %i px', async (width) => {
    const page = await openAda({ viewport: { width, height: 800 } });
    const broken =
      await page.evaluate(`[...document.querySelectorAll('.address, .code-line')].flatMap((line) => {
      const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      const found = [];
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
        for (const { 0: word, index } of node.data.matchAll(/[\\w.-]{2,24}/g)) {
          const range = document.createRange();
          range.setStart(node, index);
          range.setEnd(node, index + word.length);
          if (range.getClientRects().length > 1) found.push(word);
        }
      return found;
    })`);
    expect(broken).toEqual([]);
  });

  test('printing shows the profile only, in light colours', async () => {
    const page = await openAda({ colorScheme: 'dark' });
    await page.emulateMedia({ media: 'print' });
    for (const hidden of ['#choose', '#people', '#request', '#card', 'nav[aria-label=Sections]'])
      expect([hidden, await page.locator(hidden).isVisible()]).toEqual([hidden, false]);
    expect(await page.locator('#profile').isVisible()).toBe(true);
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
  });

  test('while another user loads, the request panel is busy as well', async () => {
    const page = await openAda();
    await page.route('**/api/**', () => {});
    await show(page, 'elodie');
    await page.locator('#request[aria-busy]').waitFor();
    expect(await textOf(status(page))).toBe('Loading…');
    expect(await textOf(page.locator('.address'))).toBe('GET /b/api/username/elodie');
    expect(await page.locator('#request').getByText('200').count()).toBe(0);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await show(page, 'lucia_r');
    await waitForText(heading(page), 'Lucía');
    expect(await page.locator('[aria-busy]').count()).toBe(0);
  });

  test('choosing a person keeps the focus on that person', async () => {
    const page = await openAda();
    await page.locator('#people').getByRole('link', { name: 'elodie' }).focus();
    await page.keyboard.press('Enter');
    await waitForText(heading(page), 'Élodie');
    expect(await page.evaluate('document.activeElement.textContent')).toContain('elodie');
    expect(await page.evaluate("document.activeElement.getAttribute('aria-current')")).toBe('true');
  });
});
