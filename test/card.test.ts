// The embeddable card on pages of another origin: its states, its attributes, and hostile servers and data.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessibilityFaults, describeInBrowser, PHONE, startSite, type Visit } from './browser.ts';
import { databaseOf, type Server, startServer, ugly } from './rig.ts';

describeInBrowser('the card', (eye) => {
  let server: Server;
  let host: Awaited<ReturnType<typeof startSite>>;
  let page = '';
  let policy = '';

  beforeAll(async () => {
    server = await startServer();
    host = await startSite((_request, response) => {
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        ...(policy && { 'content-security-policy': policy }),
      });
      response.end(page);
    });
  });
  afterAll(() => host?.close());

  /** Opens a page of another origin with this content. */
  const open = (
    html: string,
    {
      api = server,
      also,
      csp = '',
      ...visit
    }: Visit & { api?: Pick<Server, 'url'>; also?: string; csp?: string } = {},
  ) => {
    page = `<!doctype html><html lang="en"><head><title>Elsewhere</title><meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
      <script type="module" src="${api.url}/embed.js"></script></head><body><main><h1>Elsewhere</h1>${html}</main></body></html>`;
    policy = csp;
    return eye.open(host.url, { origins: [server.url, api.url, also ?? api.url], ...visit });
  };
  const card = (attributes: string, api: Pick<Server, 'url'> = server) =>
    `<vitrine-profile ${attributes.replace('BASE', api.url)}></vitrine-profile>`;
  const inside = (selector: string) =>
    `document.querySelector('vitrine-profile').shadowRoot.querySelector('${selector}')`;
  const styleOf = (page: Page, selector: string, property: string) =>
    page.evaluate(`getComputedStyle(${inside(selector)}).${property}`) as Promise<string>;
  const ready = (page: Page) => page.locator('vitrine-profile article:not([aria-busy])');

  test.each([
    ['a', 'ada', 'Ada Lindqvist', 'light'],
    ['b', 'Mo Farouk', 'محمد فاروق', 'dark'],
    ['c', '林晓', '林晓', 'light'],
  ] as const)('variant %s shows %s', async (variant, user, name, colorScheme) => {
    const page = await open(card(`base="BASE/${variant}/" variant="${variant}" user="${user}" items="5"`), {
      colorScheme,
    });
    await ready(page).locator('.name', { hasText: name }).waitFor();
    expect(await page.locator('vitrine-profile li').count()).toBe(5);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.waitForFunction(
      "[...document.querySelector('vitrine-profile').shadowRoot.querySelectorAll('header img')].every((image) => image.complete && image.naturalWidth > 0)",
    );
    expect(await page.locator('vitrine-profile header img').getAttribute('src')).toContain(
      `${server.url}/samples/`,
    );
  });

  test('works under a Content-Security-Policy without inline styles or scripts', async () => {
    const csp = `default-src 'none'; script-src ${server.url}; connect-src ${server.url}; img-src ${server.url} data:`;
    const page = await open(card('base="BASE/b" user="ada"'), { csp });
    await ready(page).locator('.name').waitFor();
    expect(await page.locator('vitrine-profile li').count()).toBe(6);
    expect(await styleOf(page, '.grid', 'display')).toBe('grid');
  });

  test('without `base` it uses the server of its script', async () => {
    const page = await open(card('variant="c" user="elodie" items="0"'));
    await ready(page).locator('.name', { hasText: 'Élodie' }).waitFor();
    expect(await page.locator('vitrine-profile li').count()).toBe(0);
  });

  test('reloads once when attributes change, and aborts requests that are no longer needed', async () => {
    const page = await open(card('base="BASE/b" variant="b" user="ada"'));
    await ready(page).locator('.name', { hasText: 'Ada' }).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/api/'))
        asked.push(new URL(request.url()).pathname + new URL(request.url()).search);
    });
    await page.evaluate(`{
      const card = document.querySelector('vitrine-profile');
      card.setAttribute('user', 'lucia_r');
      card.setAttribute('variant', 'a');
      card.setAttribute('base', '${server.url}/a');
    }`);
    await ready(page).locator('.name', { hasText: 'Lucía' }).waitFor();
    expect(asked.sort()).toEqual(['/a/api/?user=lucia_r', '/a/api/?user=lucia_r&post=true']);

    await page.route('**/api/**', () => {});
    const dropped = page.waitForEvent('requestfailed');
    await page.evaluate("document.querySelector('vitrine-profile').setAttribute('user', 'elodie')");
    await page.locator('vitrine-profile [aria-busy]').waitFor();
    expect(await page.getByRole('status').textContent()).toBe('Loading elodie…');
    await page.evaluate("document.querySelector('vitrine-profile').remove()");
    expect((await dropped).failure()?.errorText).toBe('net::ERR_ABORTED');
  });

  test('each error and the empty list have a message', async () => {
    const states = [
      ['base="BASE/b" user="nobody"', 'No user named “nobody”.'],
      ['base="BASE/b"', 'The attribute `user` is missing.'],
      ['base="BASE/b" variant="z" user="ada"', 'The attribute `variant` must be a, b or c.'],
      ['base="http://[" user="ada"', 'The profile is not available right now.'],
      ['base="BASE/a" variant="b" user="ada"', 'No user named “ada”.'],
      ['base="BASE/b" user="quiet_reader"', 'No shots yet.'],
    ] as const;
    const page = await open(states.map(([attributes]) => card(attributes)).join(''), {
      expected: /status of 404/,
    });
    for (const [index, [, words]] of states.entries())
      await page.locator('vitrine-profile').nth(index).getByText(words, { exact: true }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('Try again works when the server is back', async () => {
    const first = await startServer();
    const page = await open(card('base="BASE/b" user="ada"', first), { api: first, expected: /ERR_/ });
    await ready(page).locator('.name').waitFor();
    first.child.kill('SIGKILL');
    await first.ended;
    await page.evaluate("document.querySelector('vitrine-profile').setAttribute('user', 'elodie')");
    await page.locator('vitrine-profile .state', { hasText: 'not available right now' }).waitFor();
    await startServer({ PORT: String(first.port) });
    await page.getByRole('button', { name: 'Try again' }).click();
    await ready(page).locator('.name', { hasText: 'Élodie' }).waitFor();
  });

  test.each(['a', 'b'])('markup in texts has no effect in variant %s', async (variant) => {
    const own = await startServer({ DATABASE_URL: await databaseOf(ugly('hostile-texts.ndjson')) });
    const page = await open(
      card(`base="BASE/${variant}" variant="${variant}" user="texts" items="15"`, own),
      { api: own },
    );
    await ready(page)
      .locator('.name', {
        hasText: variant === 'a' ? '</script><script>alert(1)</script>' : '"><svg onload=alert(1)>',
      })
      .waitFor();
    expect(await page.locator('vitrine-profile li').count()).toBe(15);
    expect(
      await page
        .locator('vitrine-profile')
        .locator('script, svg, [onload], [onerror], a:not([href^="http"])')
        .count(),
    ).toBe(0);
  });

  test('endless bodies, bodies of the wrong shape and members of the wrong type are handled', async () => {
    const bodies: Record<string, string> = {
      list: '[]',
      null: 'null',
      html: '<h1>Hello',
      empty: '',
      nameless: '{"name":"x"}',
    };
    const odd = {
      username: 'odd',
      name: { toString: 1 },
      bio: 7,
      avatar: 'javascript:alert(1)',
      website: 'javascript:alert(1)',
      totalShots: 'many',
      Shots: 3,
    };
    const hostile = await startSite((request, response) => {
      const user = /username\/(\w+)/.exec(request.url ?? '')?.[1] ?? '';
      response.writeHead(200, { 'content-type': 'application/json', 'access-control-allow-origin': '*' });
      if (user === 'endless') {
        const more = () => {
          while (!response.destroyed && response.write(' '.repeat(65536)));
          response.once('drain', more);
        };
        return more();
      }
      response.end(bodies[user] ?? JSON.stringify(odd));
    });
    try {
      const users = [...Object.keys(bodies), 'endless', 'odd'];
      const page = await open(users.map((user) => card(`base="${hostile.url}" user="${user}"`)).join(''), {
        api: server,
        also: hostile.url,
      });
      const cards = page.locator('vitrine-profile');
      for (const index of users.slice(0, -1).keys()) await cards.nth(index).locator('.state b').waitFor();
      await cards.last().locator('.name', { hasText: 'odd' }).waitFor();
      expect(await page.locator('vitrine-profile a, vitrine-profile img').count()).toBe(0);
    } finally {
      await hostile.close();
    }
  });

  test('custom properties change its style', async () => {
    const page = await open(`<div id="styled">${card('base="BASE/b" user="ada"')}</div>`);
    await ready(page).locator('.name').waitFor();
    expect(await styleOf(page, 'article', 'backgroundColor')).toBe('rgb(255, 255, 255)');
    await page.evaluate(`for (const [name, value] of [['background', 'rgb(1, 2, 3)'], ['radius', '0px'], ['columns', '2']])
      document.getElementById('styled').style.setProperty('--vitrine-' + name, value)`);
    expect(await styleOf(page, 'article', 'backgroundColor')).toBe('rgb(1, 2, 3)');
    expect(await styleOf(page, 'article', 'borderRadius')).toBe('0px');
    expect((await styleOf(page, '.grid', 'gridTemplateColumns')).split(' ')).toHaveLength(2);
    await page.setViewportSize(PHONE);
    expect(
      await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
    ).toBe(0);
  });
});
