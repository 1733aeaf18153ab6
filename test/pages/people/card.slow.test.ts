// The embeddable card on pages of another origin: its states, its attributes, and hostile servers and data.
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import {
  accessibilityFaults,
  describeInBrowser,
  overhang,
  PHONE,
  type Visit,
} from '../../support/browser.ts';
import { databaseOf } from '../../support/database.ts';
import { ugly } from '../../support/files.ts';
import { freePort } from '../../support/free-port.ts';
import { startSite } from '../../support/mirror-site.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

describeInBrowser('the card', (eye) => {
  let server: LocalServer;
  let host: Awaited<ReturnType<typeof startSite>>;
  let page = '';
  let policy = '';

  beforeAll(async () => {
    server = await serveHere();
    host = await startSite((_request, response) => {
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        ...(policy && { 'content-security-policy': policy }),
      });
      response.end(page);
    });
  });

  /** Opens a page of another origin with this content. */
  const open = (
    html: string,
    {
      api = server,
      also,
      csp = '',
      ...visit
    }: Visit & { api?: Pick<LocalServer, 'url'>; also?: string; csp?: string } = {},
  ) => {
    page = `<!doctype html><html lang="en"><head><title>Elsewhere</title><meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
      <script type="module" src="${api.url}/embed.js"></script></head><body><main><h1>Elsewhere</h1>${html}</main></body></html>`;
    policy = csp;
    return eye.open(host.url, { origins: [server.url, api.url, also ?? api.url], ...visit });
  };
  const openCard = async (attributes: string, visit: Parameters<typeof open>[1] = {}) => {
    const page = await open(card(attributes, visit.api), visit);
    await ready(page).locator('.name').waitFor();
    return page;
  };
  const card = (attributes: string, api: Pick<LocalServer, 'url'> = server) =>
    `<vitrine-profile ${attributes.replace('BASE', api.url)}></vitrine-profile>`;
  const inside = (selector: string) =>
    `document.querySelector('vitrine-profile').shadowRoot.querySelector('${selector}')`;
  const styleOf = (page: Page, selector: string, property: string) =>
    page.evaluate(`getComputedStyle(${inside(selector)}).${property}`) as Promise<string>;
  const setMain = (page: Page, html: string) =>
    page.evaluate(`document.querySelector('main').innerHTML = ${JSON.stringify(html)}`);
  const ready = (page: Page) => page.locator('vitrine-profile article:not([aria-busy]) .content');

  /** A card of a user with this profile and these shots. */
  async function openWith(profile: Record<string, string>, Shots: object[]): Promise<Page> {
    const page = await open('');
    await page.route(`**/api/username/${profile.username}**`, (route) =>
      route.fulfill({
        headers: { 'access-control-allow-origin': '*' },
        json: route.request().url().endsWith('/shots') ? { Shots } : profile,
      }),
    );
    await setMain(page, card(`base="BASE/b" user="${profile.username}"`));
    await ready(page).locator('.name').waitFor();
    return page;
  }

  test.each([
    ['a', 'ada', 'Ada Lindqvist'],
    ['b', 'Mo Farouk', 'محمد فاروق'],
    ['c', '林晓', '林晓'],
  ] as const)('variant %s shows %s as %s, light and dark', async (variant, user, name) => {
    const page = await open(card(`base="BASE/${variant}/" variant="${variant}" user="${user}" items="5"`));
    await ready(page).locator('.name', { hasText: name }).waitFor();
    expect(await page.locator('vitrine-profile .content li').count()).toBe(5);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect([colorScheme, await accessibilityFaults(page)]).toEqual([colorScheme, []]);
    }
    await page.waitForFunction(
      "[...document.querySelector('vitrine-profile').shadowRoot.querySelectorAll('header img')].every((image) => image.complete && image.naturalWidth > 0)",
    );
    expect(await page.locator('vitrine-profile header img').getAttribute('src')).toContain(
      `${server.url}/samples/`,
    );
  });

  test('works under a Content-Security-Policy without inline styles or scripts', async () => {
    const csp = `default-src 'none'; script-src ${server.url}; connect-src ${server.url}; img-src ${server.url} data:`;
    const page = await openCard('base="BASE/b" user="ada"', { csp });
    expect(await page.locator('vitrine-profile .content li').count()).toBe(6);
    expect(await styleOf(page, '.content .grid', 'display')).toBe('grid');
  });

  test('without `base` it asks the server of its script, and items="0" shows no empty list', async () => {
    const page = await openCard('variant="c" user="elodie" items="0"');
    expect(await ready(page).innerText()).toMatch(/Élodie/);
    expect(await page.locator('vitrine-profile .content li').count()).toBe(0);
    expect(await ready(page).innerText()).not.toMatch(/No shots/);
  });

  test('reloads once when attributes change, and aborts requests that are no longer needed', async () => {
    const page = await openCard('base="BASE/b" variant="b" user="ada"');
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
    // By itself it would give up after 12 seconds.
    await page.evaluate('AbortSignal.timeout = () => new AbortController().signal');
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
      ['base="BASE/b" variant="z" user="ada"', 'The attribute `variant` must be one of a, b, c.'],
      ['base="http://[" user="ada"', 'The attribute `base` is not a valid address.'],
      [
        'base="BASE/a" variant="b" user="ada"',
        'Nothing at this address: check the attributes `base` and `variant`.',
      ],
      ['base="BASE/b" user="quiet_reader"', 'No shots yet.'],
    ] as const;
    const page = await open(states.map(([attributes]) => card(attributes)).join(''), {
      expected: /status of 404/,
    });
    for (const [index, [, words]] of states.entries())
      await page.locator('vitrine-profile').nth(index).getByText(words, { exact: true }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('attributes are properties too, also if they are set before the script runs', async () => {
    const first = { base: `${server.url}/a`, variant: 'a', user: 'ada', items: 2, theme: 'dark' };
    const page = await open(`<vitrine-profile></vitrine-profile>
      <script>Object.assign(document.querySelector('vitrine-profile'), ${JSON.stringify(first)})</script>`);
    await ready(page).locator('.name', { hasText: 'Ada' }).waitFor();
    const element = "document.querySelector('vitrine-profile')";
    for (const [name, value] of Object.entries(first)) {
      const seen = await page.evaluate(`[${element}.${name}, ${element}.getAttribute('${name}')]`);
      expect(seen).toEqual([String(value), String(value)]);
    }
    await page.evaluate(`Object.assign(${element}, { items: null, user: 'Amara' })`);
    await ready(page).locator('.name', { hasText: 'Amara' }).waitFor();
    expect(await page.locator('vitrine-profile .content li').count()).toBe(6);
  });

  test('events tell the outcome, a failed base leads to the next, errors collapse the card', async () => {
    const away = await startSite((_request, response) => void response.destroy());
    const readable = { 'access-control-allow-origin': '*' };
    const busy = await startSite((_request, response) => void response.writeHead(503).end());
    const closed = await startSite((_request, response) => void response.writeHead(403, readable).end());
    const page = await open('', {
      origins: [server.url, away.url, busy.url, closed.url],
      expected: /status of|ERR_|CORS/,
    });
    const outcome = (base: string, user: string) =>
      page.evaluate(`new Promise((done) => {
        const card = document.createElement('vitrine-profile');
        const isTall = () => card.shadowRoot.querySelector('article').offsetHeight > 300;
        card.addEventListener('load', ({ detail }) => done([detail.profile.username, detail.items.length, isTall()]));
        card.addEventListener('error', ({ message, error }) => done([message, error.retry, isTall()]));
        Object.assign(card, { base: '${base}', user: '${user}' });
        document.querySelector('main').append(card);
      })`);
    const base = `${server.url}/b`;
    expect(await outcome(base, 'ada')).toEqual(['ada', 6, true]);
    expect(await outcome(`${away.url} ${busy.url}  ${closed.url} ${base}`, 'ada')).toEqual(['ada', 6, true]);
    const unknown = ['No user named “nobody”.', false, false];
    expect(await outcome(`${base} ${away.url}`, 'nobody')).toEqual(unknown);
    const unavailable = ['The profile is not available right now.', true, true];
    expect(await outcome(`${busy.url} ${away.url}`, 'ada')).toEqual(unavailable);
  });

  test('Try again works when the server is back', async () => {
    const first = await serveHere({ PORT: String(await freePort()) });
    const page = await openCard('base="BASE/b" user="ada"', { api: first, expected: /ERR_/ });
    await first.stop();
    await page.evaluate("document.querySelector('vitrine-profile').setAttribute('user', 'elodie')");
    await page.locator('vitrine-profile .state', { hasText: 'not available right now' }).waitFor();
    await serveHere({ PORT: String(first.port) });
    await page.getByRole('button', { name: 'Try again' }).click();
    await ready(page).locator('.name', { hasText: 'Élodie' }).waitFor();
  });

  test.each(['a', 'b'])('markup in texts has no effect in variant %s', async (variant) => {
    const own = await serveHere({ DATABASE_URL: await databaseOf(ugly('hostile-texts.ndjson')) });
    const page = await openCard(`base="BASE/${variant}" variant="${variant}" user="texts" items="15"`, {
      api: own,
    });
    expect(await ready(page).locator('.name').innerText()).toContain(
      variant === 'a' ? '</script><script>alert(1)</script>' : '"><svg onload=alert(1)>',
    );
    expect(await page.locator('vitrine-profile .content li').count()).toBe(15);
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
    const users = [...Object.keys(bodies), 'endless', 'odd'];
    const page = await open(users.map((user) => card(`base="${hostile.url}" user="${user}"`)).join(''), {
      api: server,
      also: hostile.url,
    });
    const cards = page.locator('vitrine-profile');
    for (const index of users.slice(0, -1).keys()) await cards.nth(index).locator('.state b').waitFor();
    await cards.last().locator('.name', { hasText: 'odd' }).waitFor();
    expect(await page.locator('vitrine-profile a, vitrine-profile img').count()).toBe(0);
  });

  test('custom properties change its style', async () => {
    const page = await open(`<div id="styled">${card('base="BASE/b" user="ada"')}</div>`);
    await ready(page).locator('.name').waitFor();
    expect(await styleOf(page, 'article', 'backgroundColor')).toBe('rgb(255, 255, 255)');
    await page.evaluate(`for (const [name, value] of [['background', 'rgb(1, 2, 3)'], ['radius', '0px'], ['columns', '2']])
      document.getElementById('styled').style.setProperty('--vitrine-' + name, value)`);
    expect(await styleOf(page, 'article', 'backgroundColor')).toBe('rgb(1, 2, 3)');
    expect(await styleOf(page, 'article', 'borderRadius')).toBe('0px');
    expect((await styleOf(page, '.content .grid', 'gridTemplateColumns')).split(' ')).toHaveLength(2);
    await page.setViewportSize(PHONE);
    expect(await overhang(page)).toBe(0);
  });

  /** Where the card stands, and how wide it is there. */
  const LAYOUTS: Record<number, readonly string[]> = {
    416: [
      '<div>CARD</div>',
      '<div style="display:flex">CARD</div>',
      '<div style="display:flex;flex-direction:column;align-items:center">CARD</div>',
      '<div style="display:grid;grid-template-columns:auto 1fr">CARD</div>',
      '<div style="float:left">CARD</div>',
      '<table><tr><td>CARD</td><td>beside</td></tr></table>',
      '<div style="display:inline-block">CARD</div>',
      '<div style="position:absolute;left:0">CARD</div>',
      '<div style="width:800px">CARD</div>',
    ],
    200: [
      '<div style="width:200px">CARD</div>',
      '<div style="width:200px;display:flex">CARD</div>',
      '<div style="width:200px"><div style="display:inline-block">CARD</div></div>',
      '<div style="width:200px"><table style="border-spacing:0"><tr><td style="padding:0">CARD</td></tr></table></div>',
    ],
  };
  test.each(Object.entries(LAYOUTS))(
    'is %s px wide in any layout that leaves as much',
    async (width, layouts) => {
      const page = await open('');
      for (const layout of layouts) {
        await setMain(page, layout.replace('CARD', card('base="BASE/b" user="ada"')));
        await ready(page).locator('.name').waitFor();
        const measured = await page.evaluate(`${inside('article')}.getBoundingClientRect().width`);
        expect([layout, measured, await overhang(page)]).toEqual([layout, Number(width), 0]);
      }
    },
  );

  test.each([
    'variant="a" base="BASE/a" user="Amara" items="3"',
    'variant="b" base="BASE/b" user="ada"',
    'variant="b" base="BASE/b" user="quiet_reader"',
    'variant="c" base="BASE/c" user="elodie" items="0"',
  ])('reserves its height while it loads: %s', async (attributes) => {
    const page = await open('', { expected: /status of 404/ });
    await page.route('**/api/**', async (route) => {
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      await route.continue();
    });
    // The largest distance that the text below the card moves, from the first frame with a card to the last.
    const moved = await page.evaluate(`new Promise((done) => {
      const main = document.querySelector('main');
      main.insertAdjacentHTML('beforeend', ${JSON.stringify(`${card(attributes)}<p id="after">After the card</p>`)});
      const root = main.querySelector('vitrine-profile').shadowRoot;
      const tops = [];
      const measure = () => {
        tops.push(main.querySelector('#after').getBoundingClientRect().top);
        if (root.querySelector('article:not([aria-busy]) .content > *')) done(Math.max(...tops) - Math.min(...tops));
        else requestAnimationFrame(measure);
      };
      requestAnimationFrame(measure);
    })`);
    // One more line of the name or of the bio.
    expect(moved).toBeLessThanOrEqual(50);
  });

  test('keeps its height while another user loads', async () => {
    const page = await openCard('base="BASE/b" user="ada" items="15"');
    const height = `${inside('article')}.getBoundingClientRect().height`;
    const before = await page.evaluate(height);
    await page.route('**/api/**', () => {});
    await page.evaluate("document.querySelector('vitrine-profile').setAttribute('user', 'elodie')");
    await page.locator('vitrine-profile [aria-busy]').waitFor();
    expect(await page.evaluate(height)).toBe(before);
  });

  test('clamps long names, texts, titles and prices', async () => {
    const long = 'Long words in a row '.repeat(90);
    const shot = { id: '1', title: long, price_item: long.replaceAll(' ', ''), image: '' };
    const page = await openWith({ username: 'long', name: long, bio: long }, [
      shot,
      { ...shot, price_item: '' },
    ]);
    expect(await page.evaluate(`${inside('article')}.getBoundingClientRect().height`)).toBeLessThan(640);
    expect(await overhang(page)).toBe(0);
  });

  test('of a person who writes from right to left begins at the right', async () => {
    const page = await openCard('base="BASE/b" variant="b" user="Mo Farouk"');
    const parts = ['header', '.name', '.line', 'dl'].map((part) =>
      styleOf(page, `.content ${part}`, 'direction'),
    );
    expect(new Set(await Promise.all(parts))).toEqual(new Set(['rtl']));
    const avatar = await ready(page).locator('.avatar').boundingBox();
    const card = await ready(page).boundingBox();
    expect(avatar?.x).toBeGreaterThan((card?.x ?? Number.NaN) + (card?.width ?? Number.NaN) / 2);
  });

  test('whole tiles lead to pages of items, and the card to the profile', async () => {
    const page = await openCard('base="BASE/b" variant="b" user="ada"');
    expect(await ready(page).getByRole('img', { name: 'verified' }).count()).toBe(0);
    expect(await ready(page).getByRole('link', { name: 'Kartblad till barnen' }).innerText()).toContain(
      '· Free',
    );
    const targets = await page.evaluate(`(() => {
      const root = document.querySelector('vitrine-profile').shadowRoot;
      return [...root.querySelectorAll('.content li')].map((tile) => {
        const { left, top, width, height } = tile.querySelector('.tile').getBoundingClientRect();
        return root.elementFromPoint(left + width / 2, top + height / 2)?.closest('a')?.href;
      });
    })()`);
    expect(targets).toHaveLength(6);
    for (const target of targets as string[]) {
      expect(target).toMatch(RegExp(`^${server.url}/people/b/ada/[0-9]+$`));
      expect((await fetch(target)).status).toBe(200);
    }
    const back = ready(page).getByRole('link', { name: /^All shots · / });
    expect(await back.getAttribute('href')).toBe(`${server.url}/people/b/ada`);
    const off = await serveHere({ EXPLORER: 'off' });
    const alone = await openCard('base="BASE/b" variant="b" user="ada"', { api: off });
    expect(await ready(alone).getByText('All shots').count()).toBe(0);
  });

  test('has a badge for verified users, and written-out dates', async () => {
    const page = await openCard('base="BASE/a" variant="a" user="ada"');
    expect(await ready(page).getByRole('img', { name: 'verified' }).count()).toBe(1);
    expect(await ready(page).locator('li').first().innerText()).toContain('September 19, 2026');
  });

  test('shows the link inside the element where scripts do not run', async () => {
    const html = '<vitrine-profile user="ada"><a href="/ada">Ada</a></vitrine-profile>';
    const page = await open(html, { javaScriptEnabled: false });
    expect(await page.getByRole('link', { name: 'Ada' }).isVisible()).toBe(true);
  });

  test('on a page without color-scheme, `theme` decides', async () => {
    const cases = [
      ['theme="dark"', 'light', 'rgb(19, 26, 24)'],
      ['theme="light"', 'dark', 'rgb(255, 255, 255)'],
      ['theme="auto"', 'dark', 'rgb(19, 26, 24)'],
      ['', 'dark', 'rgb(255, 255, 255)'],
    ] as const;
    const page = await open(cases.map(([theme]) => card(`base="BASE/b" user="ada" ${theme}`)).join(''));
    await page.evaluate("document.querySelector('meta[name=color-scheme]').remove()");
    for (const [index, [theme, colorScheme, colour]] of cases.entries()) {
      await page.emulateMedia({ colorScheme });
      await ready(page).nth(index).locator('.name').waitFor();
      const back = await page.evaluate(
        `getComputedStyle(document.querySelectorAll('vitrine-profile')[${index}].shadowRoot.querySelector('article')).backgroundColor`,
      );
      expect({ theme, colorScheme, back }).toEqual({ theme, colorScheme, back: colour });
    }
  });

  test('items with the same initials are told apart', async () => {
    const titles = ['Blue door', 'Red roof', 'Blue dusk', '', ''];
    const shots = titles.map((title, index) => ({ id: String(index), title }));
    const page = await openWith({ username: 'same' }, shots);
    const marks = await page.locator('vitrine-profile .content .tile').allTextContents();
    expect(marks.join()).toBe('BD,RR,BD2,1,2');
  });
});
