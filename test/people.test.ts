// One user outside of JSON: the page, the image of the card, and the feeds.
import { join } from 'node:path';
import { XmlDocument } from 'libxml2-wasm';
import { mf2 } from 'microformats-parser';
import { beforeAll, describe, expect, test } from 'vitest';
import { escapeText } from '../src/views/markup.ts';
import { ndjson, ROOT, tempFile, ugly } from './files.ts';
import { blog, folio, post, shot } from './records.ts';
import { ask, databaseOf, done, importInto, json, type LocalServer } from './rig.ts';
import { serveHere } from './serve-here.ts';

let server: LocalServer;
beforeAll(async () => {
  server = await serveHere();
});

const KINDS = ['/people/b/ada', '/card/b/ada.svg', '/feeds/b/ada.atom', '/feeds/b/ada.json'];

describe.each(KINDS)('%s', (path) => {
  test('its ETag tells the template and the data, so that a 304 renders nothing', async () => {
    const tagOf = async (url: string) => (await ask(server, url)).headers.etag?.slice(1, -1);
    const [template, profile, items] = (await tagOf(path))?.split('.') ?? [];
    expect(profile).toBe(await tagOf('/b/api/username/ada'));
    expect((await tagOf(path.replace('ada', 'amara')))?.split('.')[0]).toBe(template);
    const whole = `"${template}.${profile}.${items}"`;
    const statusFor = async (known: string) =>
      (await ask(server, path, { headers: { 'if-none-match': known } })).status;
    for (const known of [`W/${whole}`, `"x", ${whole}`, '*']) expect(await statusFor(known)).toBe(304);
    for (const known of [`"${template}.${profile}.x", "${items}"`, `"x.${profile}.${items}"`])
      expect(await statusFor(known)).toBe(200);
  });

  test('the letter case of the name does not matter', async () => {
    expect((await ask(server, path.replace('ada', 'ADA'))).body).toBe((await ask(server, path)).body);
  });

  test('unknown, invalid and too long names', async () => {
    const statusOf = async (name: string) => (await ask(server, path.replace('ada', name))).status;
    expect(await statusOf('nobody')).toBe(404);
    expect(await statusOf('%00')).toBe(400);
    expect(await statusOf('x'.repeat(256))).toBe(414);
  });
});

test('texts are escaped for HTML, XML and both kinds of attributes', () => {
  expect(escapeText(`<a b='1' c="2">&\0`)).toBe('&lt;a b=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\ufffd');
});

test('an import is in the next response', async () => {
  const profile = (name: string) => folio(1, 'ada', { name });
  const url = await databaseOf(profile('Before'));
  const own = await serveHere({ DATABASE_URL: url });
  for (const path of KINDS) expect((await ask(own, path)).body).toContain('Before');
  await importInto(url, ['-'], ndjson(profile('After')));
  for (const path of KINDS) expect((await ask(own, path)).body).toContain('After');
});

test.each(['404', '410'])('a user who was taken down: TAKEDOWN_STATUS=%s', async (status) => {
  const url = await databaseOf(folio(1, 'ada'));
  const own = await serveHere({ DATABASE_URL: url, TAKEDOWN_STATUS: status });
  await done(['takedown', '--database-url', url, '--family', 'portfolio', 'ada']);
  for (const path of KINDS) {
    await expect.poll(async () => (await ask(own, path)).status).toBe(Number(status));
    const caching = path.startsWith('/people') ? 'private, max-age=5' : 'max-age=5';
    expect((await ask(own, path)).headers['cache-control']).toBe(caching);
  }
});

test('every variant has them, under its own letter only', async () => {
  const some = await serveHere({ BASE_URL_B: '', BASE_URL_C: 'https://c.example/x' });
  const status = async (path: string, host = 'here.example') =>
    (await ask(some, path, { headers: { host } })).status;
  for (const path of ['/people/V/ada', '/card/V/ada.svg', '/feeds/V/ada.atom', '/feeds/V/ada.json']) {
    expect([path, await status(path.replace('V', 'a'))]).toEqual([path, 200]);
    expect([path, await status(path.replace('V', 'b'))]).toEqual([path, 404]);
    expect([path, await status(path.replace('V', 'c'))]).toEqual([path, 404]);
    expect([path, await status(path.replace('V', 'c'), 'c.example')]).toEqual([path, 200]);
  }
  const { body } = await ask(some, '/people/c/ada', { headers: { host: 'c.example' } });
  expect(body).toMatch(
    /"@type":"ProfilePage","@id":"https:\/\/c.example\/people\/c\/ada","url":"https:.*?","dateModified":"20/,
  );
  expect(body).toContain('<link rel="canonical" href="https://c.example/people/c/ada">');
  expect(body).toContain('<meta property="og:url" content="https://c.example/people/c/ada">');
  expect((await ask(some, '/people/a/ada')).body).not.toContain('rel="canonical"');
});

test('without the explorer there is no page, but image and feeds', async () => {
  const off = await serveHere({ EXPLORER: 'off' });
  expect((await ask(off, '/people/b/ada')).status).toBe(404);
  expect((await ask(off, '/card/b/ada.svg')).status).toBe(200);
  const { status, body } = await ask(off, '/feeds/b/ada.atom');
  expect([status, body.includes('/people/')]).toEqual([200, false]);
  expect((await ask(off, '/embed.js')).body).toContain('const PAGES = false;');
});

describe('the page of a person', () => {
  const linkedData = (page: string) =>
    JSON.parse(/<script type="application\/ld\+json">(.*?)<\/script>/.exec(page)?.[1] as string);

  test('has title, description, Open Graph and JSON-LD in its HTML', async () => {
    const { body } = await ask(server, '/people/a/ada');
    const profile = json(await ask(server, '/a/api/?user=ada'));
    expect(body).toContain('<title>Ada Lindqvist (@ada)</title>');
    expect(body).toMatch(/<meta name="description" content="Cartographer of small places/);
    expect(body).toContain('<meta property="og:type" content="profile">');
    expect(linkedData(body)).toMatchObject({
      '@type': 'ProfilePage',
      mainEntity: {
        '@type': 'Person',
        name: 'Ada Lindqvist',
        alternateName: 'ada',
        sameAs: [profile.website],
      },
    });
  });

  test('shows link previews the newest picture of the work, or else the cover or the avatar, but no SVG', async () => {
    const at = (name: string) => `https://e.example/${name}`;
    const own = await serveHere({
      DATABASE_URL: await databaseOf(
        folio(1, 'work', { cover_image: at('c.jpg') }),
        shot(2, 1, { title: 'Drawing', large_image: at('2.SVG?x=1'), date: '2026-02-02 00:00:00' }),
        shot(1, 1, { title: 'Photo', image: at('s.jpg'), large_image: at('l.jpg') }),
        folio(2, 'cover', { cover_image: at('c.jpg'), avatar: at('a.jpg') }),
        folio(3, 'avatar', { name: '朝倉', cover_image: at('c.svg'), avatar: at('a.jpg') }),
        folio(4, 'nothing', { avatar: at('a.svg') }),
        blog(5, 'photos'),
        post(5, 5, { photo: at('p.webp') }),
      ),
    });
    const previewOf = async (path: string) => {
      const { body } = await ask(own, path);
      return ['og:image', 'og:image:alt', 'twitter:card'].map(
        (name) => new RegExp(`="${name}" content="([^"]*)"`).exec(body)?.[1],
      );
    };
    const large = 'summary_large_image';
    for (const [path, ...expected] of [
      ['b/work', at('l.jpg'), 'Photo', large],
      ['b/cover', at('c.jpg'), 'cover (@cover)', large],
      ['b/avatar', at('a.jpg'), '朝倉 (@avatar)', 'summary'],
      ['b/nothing', undefined, undefined, 'summary'],
      ['a/photos', at('p.webp'), 'photos (@photos)', large],
    ])
      expect([path, ...(await previewOf(`/people/${path}`))]).toEqual([path, ...expected]);
  });

  test('is readable without JavaScript: name, bio and list', async () => {
    const { body } = await ask(server, '/people/c/ada');
    const { Posts } = json(await ask(server, '/c/api/username/ada/shots'));
    expect(body).toContain('<h1 dir="auto"><span class="p-name">Ada Lindqvist</span></h1>');
    expect(body).not.toMatch(/<script(?! type="application\/ld\+json")/);
    expect(body).toContain('Maps of small places');
    for (const { title } of Posts) expect(body).toContain(title.replaceAll("'", '&#39;'));
    expect(body.match(/<li class="shot[ "]/g)).toHaveLength(Posts.length);
    expect(body.match(/<img [^>]*loading="lazy"/g)).toHaveLength(Posts.length - 1);
    for (const name of ['cover-ada', 'avatar-ada']) expect(body).toContain(`src="../../samples/${name}.svg"`);
  });

  test('runs from right to left if the name does, or the bio of a name without letters', async () => {
    const directionOf = (page: string) => /<main id="main" dir="(\w+)"/.exec(page)?.[1];
    const sample = (await ask(server, '/people/b/Mo%20Farouk')).body;
    const records = [
      folio(1, 'arabic', { name: 'محمد', bio: 'Lamps made of glass' }),
      folio(2, 'latin', { name: 'Mo', bio: 'مصابيح من زجاج' }),
      folio(3, '123', { name: '123', bio: 'مصابيح من زجاج' }),
    ];
    const own = await serveHere({ DATABASE_URL: await databaseOf(...records) });
    const pages = await Promise.all(
      ['arabic', 'latin', '123'].map(async (name) => (await ask(own, `/people/b/${name}`)).body),
    );
    expect([sample, ...pages].map(directionOf)).toEqual(['rtl', 'rtl', 'ltr', 'rtl']);
    // An English sentence keeps its full stop at its end.
    expect(pages[0]).toContain('<bdi>No shots yet.</bdi>');
  });

  test('numbers tiles whose titles have the same initials', async () => {
    const titles = ['Lake Fog', 'Blue Jar', 'Low Fire'];
    const records = [folio(1, 'x'), ...titles.map((title, nth) => shot(9 - nth, 1, { title }))];
    const own = await serveHere({ DATABASE_URL: await databaseOf(...records) });
    const { body } = await ask(own, '/people/b/x');
    const marks = [...body.matchAll(/>((?:LF|BJ)\d*)</g)].map(([, mark]) => mark);
    expect(marks).toEqual(['LF', 'BJ', 'LF2']);
  });

  test('links to files, JSON and feeds that are served, below any prefix', async () => {
    for (const path of ['/people/a/mo%20farouk', '/people/b/o%27neill', '/people/b/%E6%9E%97%E6%99%93']) {
      const { status, body } = await ask(server, path);
      expect([path, status]).toEqual([path, 200]);
      const links = [...body.matchAll(/<(?:link|script|a)\b[^>]* (?:href|src)="([^"]+)"/g)]
        .map(([, href = '']) => href.replaceAll('&#39;', "'").replaceAll('&amp;', '&'))
        .filter((href) => !/^(http|#)/.test(href));
      expect(links.length).toBeGreaterThan(8);
      for (const href of links) {
        const { pathname, search } = new URL(href, `http://x/deep/down${path}`);
        expect(pathname).toMatch(/^\/deep\/down\//);
        const address = pathname.slice('/deep/down'.length) + search;
        expect([address, (await ask(server, address)).status]).toEqual([address, 200]);
      }
    }
  });

  test('around it, browsers get pages with a way on, and programs JSON', async () => {
    const accept = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const addresses = ['/people/b/nobody', '/people/b', '/people/b/', '/people', '/people/'];
    for (const address of addresses) {
      const page = await ask(server, address, { headers: accept });
      expect([address, page.status, page.headers.vary]).toEqual([address, 404, 'Accept']);
      const [, ada] = /href="([^"]*)"><bdi>ada</.exec(page.body) ?? [];
      const { pathname } = new URL(ada as string, `http://x${address}`);
      expect([address, (await ask(server, pathname)).status]).toEqual([address, 200]);
      const styles = new URL(/href="([^"]*person.css)/.exec(page.body)?.[1] as string, `http://x${address}`);
      expect([address, styles.pathname]).toEqual([address, '/person.css']);
      expect(json(await ask(server, address)).code).toMatch(/_NOT_FOUND$/);
    }
    const { status, headers } = await ask(server, '/people/b/o%27neill/');
    expect([status, new URL(String(headers.location), 'http://x/people/b/o%27neill/').pathname]).toEqual([
      301,
      "/people/b/o'neill",
    ]);
  });

  test('of an unknown name depends on the origin as well, where only some may read', async () => {
    const some = await serveHere({ CORS_ORIGIN: 'https://o.example,https://p.example' });
    const headers = { accept: 'text/html', origin: 'https://o.example' };
    const answer = await ask(some, '/people/b/nobody', { headers });
    expect(answer.headers.vary).toBe('Origin, Accept');
  });

  test('of an unknown name is a 404 with words and without a place in search engines', async () => {
    const { status, headers, body } = await ask(server, '/people/b/%3Cb%3Enobody', {
      headers: { accept: 'text/html' },
    });
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      404,
      'text/html; charset=utf-8',
      'private, max-age=5',
    ]);
    expect(body).toContain('<title>No user named “&lt;b&gt;nobody”</title>');
    expect(body).toContain('<meta name="robots" content="noindex">');
  });
});

test('SITE_NAME, SITE_LOGO, SITE_URL and ACCENT are on every page, card and feed', async () => {
  const own = await serveHere({
    SITE_NAME: 'Atelier <Nord>',
    SITE_LOGO: join(ROOT, 'src/web/icon.svg'),
    SITE_URL: 'https://atelier.example',
    ACCENT: '#7a1f4d',
  });
  for (const path of ['/', '/docs', '/people/b/ada']) {
    const { body } = await ask(own, path);
    expect(body).toContain('<a href="https://atelier.example">Atelier &lt;Nord&gt;</a>');
    expect(body).toMatch(/<img class="brand-logo" src="[./]*logo" alt=""/);
    expect(body).toMatch(/<title>.*Atelier &lt;Nord&gt;/);
  }
  for (const path of [
    '/explorer.css',
    '/docs.css',
    '/person.css',
    '/embed.js',
    '/card/b/ada.svg',
    '/icon.svg',
  ]) {
    const { body } = await ask(own, path);
    expect([path, body.includes('#7a1f4d'), body.includes('#0c6b5b')]).toEqual([path, true, false]);
  }
  expect((await ask(own, '/logo')).headers['content-type']).toBe('image/svg+xml');
  expect((await ask(own, '/people/b/ada')).body).toContain('og:site_name" content="Atelier &lt;Nord&gt;"');
  expect((await ask(own, '/feeds/b/ada.atom')).body).toContain(
    '<id>tag:atelier.example,2026:portfolio/7</id>',
  );
  expect(json(await ask(own, '/feeds/b/ada.json')).title).toBe('Ada Lindqvist · Atelier <Nord>');
});

describe('items beyond the newest', () => {
  const COUNT = 60;
  const ids = Array.from({ length: COUNT }, (_, nth) => String(COUNT - nth));
  let own: LocalServer;
  beforeAll(async () => {
    const work = (id: string) => shot(id, 1, { title: `T${id}`, large_image: `https://e.example/${id}.jpg` });
    const records = [
      folio(1, 'ada', { name: 'Ada' }),
      ...ids.map(work),
      folio(2, 'few'),
      shot(99, 2),
      folio(3, 'gone'),
      shot(98, 3),
    ];
    const DATABASE_URL = await databaseOf(
      ...records,
      blog(1, 'ada', {}),
      post(1, 1, { post_details: 'Hi @few' }),
    );
    await done(['takedown', '--database-url', DATABASE_URL, '--family', 'portfolio', 'gone']);
    own = await serveHere({ DATABASE_URL, TAKEDOWN_STATUS: '410' });
  });

  const linkIn = (body: string, rel: string) =>
    new RegExp(`<link rel="${rel}" href="([^"]*)"`).exec(body)?.[1];
  const follow = async (path: string, rel: string) => {
    const visited = new Map<string, string>();
    for (let at: string | undefined = path; at !== undefined; ) {
      const { status, body } = await ask(own, at);
      expect([at, status]).toEqual([at, 200]);
      visited.set(at, body);
      const next = linkIn(body, rel);
      at = next && new URL(next, `http://x${at}`).href.slice('http://x'.length);
    }
    return visited;
  };
  const shownIn = (pages: Iterable<string>) =>
    [...pages].flatMap((body) => [...body.matchAll(/ id="item-(\d+)"/g)].map(([, id]) => id));

  test('are on pages that lead to each of them once, and back', async () => {
    const older = await follow('/people/b/ada', 'next');
    expect(shownIn(older.values())).toEqual(ids);
    const last = [...older.keys()].at(-1) as string;
    const newer = await follow(last, 'prev');
    expect([...newer.keys()].at(-1)).toBe('/people/b/ada');
    expect(new Set(shownIn(newer.values()))).toEqual(new Set(ids));
    expect(linkIn((await ask(own, '/people/b/few')).body, 'next')).toBeUndefined();
  });

  test('are on pages of which shared caches keep one in sixteen', async () => {
    const kept = await Promise.all(
      ids.slice(0, -1).map(async (id) => {
        const { headers } = await ask(own, `/people/b/ada?before=${id}`);
        return headers['cache-control'] !== 'private, no-cache';
      }),
    );
    expect(kept.filter(Boolean).length).toBeLessThanOrEqual(COUNT / 8);
    expect(kept).toContain(true);
    const border = ids[kept.indexOf(true)];
    const { headers } = await ask(own, `/people/b/ada?before=${border}&x=1`);
    expect(headers['cache-control']).toBe('private, no-cache');
  });

  test('have a page each, which leads to its neighbours', async () => {
    const pages = await follow('/people/b/ada/60', 'next');
    expect([...pages.keys()]).toEqual(ids.map((id) => `/people/b/ada/${id}`));
    const body = pages.get('/people/b/ada/30') as string;
    expect([linkIn(body, 'prev'), linkIn(body, 'next')]).toEqual(['31', '29']);
    expect(body).toContain('<meta property="og:image" content="https://e.example/30.jpg">');
    const [, data = ''] = /<script type="application\/ld\+json">(.*?)<\/script>/.exec(body) ?? [];
    const author = { '@type': 'Person', name: 'Ada', alternateName: 'ada' };
    expect(JSON.parse(data)).toMatchObject({ '@type': 'CreativeWork', name: 'T30', author });
    const { headers } = await ask(own, '/people/b/ada/30');
    const again = await ask(own, '/people/b/ADA/30', { headers: { 'if-none-match': String(headers.etag) } });
    expect(again.status).toBe(304);
  });

  test('mentions lead to users of the same site', async () => {
    expect((await ask(own, '/people/a/ada')).body).toContain('Hi <a href="few" rel="nofollow">@few</a>');
    expect((await ask(own, '/people/a/ada/1')).body).toContain('Hi <a href="../few" rel="nofollow">@few</a>');
  });

  test.each([
    ['/people/b/ada/61', 404, 'href="../ada"'],
    ['/people/b/ada/0', 404, 'href="../ada"'],
    ['/people/b/ada/x', 404, 'href="../ada"'],
    ['/people/b/ada?before=1', 404, 'href="ada"'],
    ['/people/b/ada?before=61', 404, 'href="ada"'],
    ['/people/b/nobody/1', 404, 'No user named'],
    ['/people/b/gone/98', 410, 'was removed'],
    ['/people/b/gone?before=98', 410, 'was removed'],
  ])('a page that is not there leads on: %s', async (path, status, words) => {
    const page = await ask(own, path, { headers: { accept: 'text/html' } });
    expect([page.status, page.body.includes(words)]).toEqual([status, true]);
    expect(json(await ask(own, path)).statusCode).toBe(String(status));
  });

  test.each(['before=x', 'before=0', 'before=1&before=2', 'before=%zz'])('?%s is refused', async (query) => {
    const { status } = await ask(own, `/people/b/ada?${query}`);
    expect(status).toBe(/&|%/.test(query) ? 400 : 404);
  });
});

test('programs read who a page is about, and its items: microformats', async () => {
  const { body } = await ask(server, '/people/b/ada');
  const { items, rels } = mf2(body, { baseUrl: `${server.url}/people/b/ada` });
  const [card, ...entries] = items;
  expect(card).toMatchObject({
    type: ['h-card'],
    properties: { name: ['Ada Lindqvist'], nickname: ['ada'] },
  });
  expect(entries).toHaveLength(15);
  const [first] = entries;
  expect(first?.type).toEqual(['h-entry']);
  for (const name of ['name', 'url', 'published', 'category']) expect(first?.properties).toHaveProperty(name);
  expect(rels.me?.length).toBeGreaterThan(0);
  const [url] = first?.properties.url ?? [];
  const page = mf2((await ask(server, String(url).slice(server.url.length))).body, { baseUrl: String(url) });
  const entry = page.items.find(({ type }) => type?.includes('h-entry'));
  expect(entry?.properties.name).toEqual(first?.properties.name);
});

describe('browsers get pages, and programs JSON, of', () => {
  const accept = { accept: 'text/html,*/*;q=0.8' };
  const both = async (own: LocalServer, path: string) => {
    const [page, data] = [await ask(own, path, { headers: accept }), await ask(own, path)];
    expect(json(data).statusCode).toBe(String(page.status));
    return page;
  };

  test.each(['/nothing', '/docs/nothing', '/feeds/nothing', '/people/x/y/z'])('404 at %s', async (path) => {
    const { status, headers, body } = await both(server, path);
    expect([status, headers['content-type'], headers.vary]).toEqual([
      404,
      'text/html; charset=utf-8',
      'Accept',
    ]);
    expect(headers['cache-control']).toBe('private, max-age=5');
    expect(body).toContain('<h1 dir="auto">There is nothing here</h1>');
    const [, styles = ''] = /href="([^"]*person.css)"/.exec(body) ?? [];
    expect(new URL(styles, `http://x/deep${path}`).pathname).toBe('/deep/person.css');
  });

  test('429, and 503 before the first import, which says how to import', async () => {
    const limited = await serveHere({ RATE_LIMIT: '1/1h' });
    await ask(limited, '/people/b/ada');
    expect((await both(limited, '/people/b/ada')).body).toContain('Too many requests');
    const empty = await serveHere({ DATABASE_URL: tempFile('none.db', '') });
    const { status, headers, body } = await both(empty, '/people/b/ada');
    expect([status, headers['cache-control']]).toEqual([503, 'no-store']);
    expect(body).toContain('<code>vitrine import people.ndjson</code>');
  });

  test('but JSON at addresses of the API, whatever the client takes', async () => {
    for (const path of ['/b/api/username/nobody', '/b/api/nothing', '/a/api/?user=%zz']) {
      const asked = await ask(server, path, { headers: accept });
      const { 'x-request-id': _, date: __, ...headers } = asked.headers;
      expect(asked.body).toBe((await ask(server, path)).body);
      expect(headers.vary ?? '').not.toContain('Accept,');
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
    }
  });
});

describe('hostile texts', () => {
  const ATTACK = `</script><script>alert(1)</script>"'><img src=x onerror=alert(1)>&amp;]]><!-- profile -->$& \u0000\u0008\ud800`;
  let own: LocalServer;
  beforeAll(async () => {
    const texts = { name: ATTACK, bio: ATTACK, location: ATTACK };
    const records = [
      blog(1, '"><script>alert(2)</script>', texts),
      post(1, 1, { post_details: ATTACK, video_title: ATTACK }),
      folio(2, '"><script>alert(2)</script>', { ...texts, skills: ATTACK }),
      shot(2, 2, { title: ATTACK, description: ATTACK, tags: ATTACK, price_item: ATTACK }),
      blog(3, 'line\u2028s'),
      post(3, 3),
      folio(4, 'line\u2028s'),
      shot(4, 4),
    ];
    const url = await databaseOf(...['hostile-texts.ndjson', 'hostile-names.ndjson'].map(ugly), ...records);
    own = await serveHere({ DATABASE_URL: url });
  });

  test.each(['a', 'b', 'c'])('are text everywhere in variant %s', async (variant) => {
    const names = ['texts', '"><script>alert(2)</script>', '#', '?', 'a/b', '%2e%2e', 'line\u2028s'].map(
      encodeURIComponent,
    );
    for (const name of names) {
      const page = await ask(own, `/people/${variant}/${name}`);
      expect(page.status).toBe(200);
      expect(page.body.match(/<script\b[^>]*>/g)).toEqual(['<script type="application/ld+json">']);
      const card = await ask(own, `/card/${variant}/${name}.svg`);
      const atom = await ask(own, `/feeds/${variant}/${name}.atom`);
      for (const { body } of [card, atom]) XmlDocument.fromString(body).dispose();
      for (const { status, body } of [page, card, atom]) {
        expect(status).toBe(200);
        // The tags that are left when attribute values and data are taken out.
        const tags = body.replace(/="[^"]*"/g, '=""').replace(/(<script [^>]*>)\{.*?(?=<\/script>)/g, '$1');
        expect(tags).not.toMatch(/<img src=x|<[^>]*\son\w+=|alert\(\d\)<\/script>/i);
        for (const [, address] of body.matchAll(/ (?:href|src)="([^"]*)"/g))
          expect(address).toMatch(/^(https?:\/\/|#|\.\.\/|\?before=\d+$|[\w%.()&#;]+(\/\d+(\.atom)?)?$)/);
        for (const character of ['\u0000', '\u0008', '\ufffe']) expect(body.includes(character)).toBe(false);
        expect(body.isWellFormed()).toBe(true);
      }
      expect(card.body).not.toMatch(/<(script|a|image|foreignObject|use)\b|href=|url\((?!#)/);
      expect(card.headers['content-security-policy']).toBe(
        "default-src 'none'; style-src 'unsafe-inline'; sandbox; img-src data:",
      );
      expect(json(await ask(own, `/feeds/${variant}/${name}.json`)).items.length).toBeGreaterThan(0);
    }
  });
});

test.each(['&', ',', 'a ', '"', '日', '🗺', '\u0001'])(
  'pages, feeds and cards are smaller than 500 KB, also of records full of %j',
  async (character) => {
    const most = (bytes: number) =>
      character.repeat(bytes / Buffer.byteLength(JSON.stringify(character).slice(1, -1)));
    const url = `https://u.example/${most(1990)}`.slice(0, 1999).toWellFormed();
    const web = (...names: string[]) => Object.fromEntries(names.map((name) => [name, encodeURI(url)]));
    const texts = (...names: string[]) => Object.fromEntries(names.map((name) => [name, most(10_000)]));
    const person = { ...texts('name', 'bio', 'location'), ...web('avatar', 'cover_image', 'website') };
    const work = {
      ...texts('title', 'description', 'tags', 'price_item'),
      ...web('image', 'large_image', 'attachment', 'url_purchased'),
    };
    const words = {
      ...texts('post_details', 'video_title', 'title_audio'),
      ...web('photo', 'video_url', 'video_thumbnail', 'url_audio', 'thumbnail_song'),
    };
    const records = Array.from({ length: 29 }, (_, nth) => [shot(nth + 1, 1, work), post(nth + 1, 1, words)]);
    const database = await databaseOf(folio(1, 'ada', person), blog(1, 'ada', person), ...records.flat());
    const own = await serveHere({ DATABASE_URL: database });
    for (const path of KINDS)
      for (const address of [path, path.replace('/b/', '/a/')]) {
        const { status, body } = await ask(own, address);
        expect([address, status, Buffer.byteLength(body) < 500_000]).toEqual([address, 200, true]);
        // A text is cut earlier where each of its characters has to be escaped.
        expect((body.match(/(?:&amp;|&amp;amp;){402}/g) ?? []).length).toBe(0);
      }
  },
);

test('no legal user takes much more CPU than an ordinary one', async () => {
  const users = {
    ordinary: { description: 'a normal description' },
    ampersands: { description: '&'.repeat(64_000) },
    blanks: { description: `${' '.repeat(64_000)}x`, title: 'a '.repeat(100) },
    tags: { tags: 'a,'.repeat(32_000) },
  };
  const names = Object.keys(users);
  let id = 0;
  const records = Object.entries(users).flatMap(([name, more], nth) => [
    folio(nth + 1, name, { bio: nth === 0 ? 'b' : 'a < '.repeat(15_000) }),
    ...Array.from({ length: 30 }, () => shot(++id, nth + 1, { title: 't', ...more })),
  ]);
  const own = await serveHere({ DATABASE_URL: await databaseOf(...records) });
  const least = new Map<string, number>();
  for (let round = 0; round < 6; round++)
    for (const path of KINDS)
      for (const name of names) {
        const address = path.replace('ada', name);
        const before = process.cpuUsage();
        await ask(own, address);
        const { user, system } = process.cpuUsage(before);
        least.set(address, Math.min(least.get(address) ?? Number.POSITIVE_INFINITY, user + system));
      }
  // The items are a hundred times as many bytes to read. It was 40 to 200 when each text was escaped to learn its size.
  for (const path of KINDS)
    for (const name of names.slice(1)) {
      const [one = 0, other = 0] = [name, 'ordinary'].map((user) => least.get(path.replace('ada', user)));
      expect(one / other, path.replace('ada', name)).toBeLessThan(path.startsWith('/feeds') ? 20 : 9);
    }
});

test('long texts are whole on pages, which stay smaller than 200 KB', async () => {
  const long = (of: string, bytes: number) => `${of.repeat(bytes / Buffer.byteLength(of))}END`;
  const work = (nth: number, user: number, description: string) => shot(nth + 1, user, { description });
  const records = [
    folio(1, 'ordinary', { bio: long("It's long. ", 6000) }),
    ...Array.from({ length: 15 }, (_, nth) => work(nth, 1, long('words ', 3000))),
    folio(2, 'huge', { bio: long('日', 60_000) }),
    ...Array.from({ length: 15 }, (_, nth) => work(nth + 15, 2, long('日', 60_000))),
  ];
  const own = await serveHere({ DATABASE_URL: await databaseOf(...records) });
  const { body } = await ask(own, '/people/b/ordinary');
  expect(body.match(/END<\/p>/g)).toHaveLength(16);
  for (const path of ['/people/b/huge', '/feeds/b/huge.atom', '/feeds/b/huge.json'])
    expect(Buffer.byteLength((await ask(own, path)).body)).toBeLessThan(200_000);
});

describe('unusual data', () => {
  let own: LocalServer;
  beforeAll(async () => {
    const odd = 'https://e.example/a[1]"<b>|{}\\^`50%?q[]=ü';
    const records = [
      folio(1, 'cut', { bio: `${'x'.repeat(198)}🗺️🗺️`, name: 'Long '.repeat(9000) }),
      folio(2, 'blank', { bio: '\u2028 \u200b' }),
      shot(1, 2, { description: '\u200b' }),
      folio(3, 'links', { website: odd, avatar: 'http://[::1]/[1]', name: '\ud800x' }),
      shot(2, 3, { url_purchased: odd, large_image: odd }),
    ];
    own = await serveHere({ DATABASE_URL: await databaseOf(...records) });
  });

  test('texts are never cut inside a character, and titles are short', async () => {
    const { body } = await ask(own, '/people/b/cut');
    expect(body).not.toContain('\ufffd');
    expect(/<title>(.*?)<\/title>/.exec(body)?.[1]?.length).toBeLessThan(120);
  });

  test('a user of the other family only is found from there', async () => {
    const { status, body } = await ask(own, '/people/a/Cut', { headers: { accept: 'text/html' } });
    expect([status, body.includes('href="../b/Cut"')]).toEqual([404, true]);
  });

  test('a bio without visible characters is none', async () => {
    const { body } = await ask(own, '/people/b/blank');
    expect(body).toContain('<meta name="description" content="The latest shots of blank.">');
    expect((await ask(own, '/feeds/b/blank.atom')).body).not.toContain('<subtitle>');
    expect(json(await ask(own, '/feeds/b/blank.json')).items[0].content_text).toBe('Untitled');
  });

  test('addresses are valid URIs', async () => {
    const uri = 'https://e.example/a%5B1%5D%22%3Cb%3E%7C%7B%7D/%5E%6050%25?q%5B%5D=%C3%BC';
    const feed = json(await ask(own, '/feeds/b/links.json'));
    expect(feed.items[0]).toMatchObject({ external_url: uri, image: uri });
    expect(feed.authors[0]).toMatchObject({ url: uri, avatar: 'http://[::1]/%5B1%5D' });
    for (const path of ['/feeds/b/links.atom', '/people/b/links'])
      expect((await ask(own, path)).body).toContain(`href="${uri}"`);
  });
});

describe('the feeds', () => {
  let named: LocalServer;
  beforeAll(async () => {
    named = await serveHere({ BASE_URL_B: 'https://b.example/x', BASE_URL_C: '/c' });
  });

  test('begin with the items of the list, newest first, with ids that stay', async () => {
    const { Shots } = json(await ask(server, '/b/api/username/ada/shots'));
    const idsIn = (atom: string) => [...atom.matchAll(/<id>(.*?)<\/id>/g)].map(([, id]) => id);
    const host = { host: 'b.example' };
    const atom = (await ask(named, '/feeds/b/ada.atom', { headers: host })).body;
    const feed = json(await ask(named, '/feeds/b/ada.json', { headers: host }));
    const ids = Shots.map(({ id }: { id: string }) => `tag:b.example,2026:portfolio/7/${id}`);
    expect(idsIn(atom).slice(0, 16)).toEqual(['tag:b.example,2026:portfolio/7', ...ids]);
    expect(feed.items.map(({ id }: { id: string }) => id).slice(0, 15)).toEqual(ids);
    expect(feed).toMatchObject({ version: 'https://jsonfeed.org/version/1.1', title: 'Ada Lindqvist' });
    // Variants of one family share their ids.
    expect(idsIn((await ask(named, '/feeds/c/ada.atom')).body)).toEqual(idsIn(atom));
  });

  test('without a host of their own have UUIDs that the data of another site does not give', async () => {
    const idsIn = async (path: string) => {
      const { body } = await ask(server, path);
      return [...body.matchAll(/(?:<id>|"id":")(.*?)[<"]/g)].map(([, id]) => id);
    };
    const ids = await idsIn('/feeds/b/ada.atom');
    for (const id of ids)
      expect(id).toMatch(/^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(ids.length).toBeGreaterThan(15);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await idsIn('/feeds/c/ada.json')).toEqual(ids.slice(1));
    expect(await idsIn('/feeds/a/ada.atom')).not.toContain(ids[0]);
  });

  test('have absolute links to their page and to the pages of items, if the host is known', async () => {
    const headers = { host: 'b.example' };
    const feed = json(await ask(named, '/feeds/b/Amara.json', { headers }));
    expect(feed).toMatchObject({
      home_page_url: 'https://b.example/people/b/Amara',
      feed_url: 'https://b.example/feeds/b/Amara.json',
    });
    const { body } = await ask(named, '/feeds/b/Amara.atom', { headers });
    expect(body).toContain(
      'rel="self" type="application/atom+xml" href="https://b.example/feeds/b/Amara.atom"',
    );
    for (const { id, url } of feed.items) {
      expect(url).toBe(`https://b.example/people/b/Amara/${id.split('/').at(-1)}`);
      expect(body).toContain(`<link rel="alternate" type="text/html" href="${url}"/>`);
    }
    expect(json(await ask(server, '/feeds/b/Amara.json')).items[0]).not.toHaveProperty('url');
  });

  test.each([15, 16, 29, 30, 47])('lead through archives to each of %i items once', async (count) => {
    const of = (first: number, last: number) =>
      Array.from({ length: last - first + 1 }, (_, nth) =>
        shot(first + nth, 1, { title: `T${first + nth}` }),
      );
    const url = await databaseOf(folio(1, 'ada'), ...of(1, count));
    const own = await serveHere({ DATABASE_URL: url, BASE_URL_B: 'https://b.example/b' });
    const headers = { host: 'b.example' };
    const ids = Array.from({ length: count }, (_, nth) => String(count - nth));
    const follow = async (path: string, next: RegExp, id: RegExp) => {
      const [found, archives]: [string[], Map<string, string>] = [[], new Map()];
      for (let at: string | undefined = path; at !== undefined; ) {
        const { status, body } = await ask(own, at, { headers });
        expect([at, status]).toEqual([at, 200]);
        if (at !== path) archives.set(at, body);
        found.push(...[...body.matchAll(id)].map(([, name = '']) => name));
        at = next.exec(body)?.[1]?.replace('https://b.example', '');
      }
      return { found, archives };
    };
    const followAtom = () =>
      follow('/feeds/b/ada.atom', /rel="prev-archive"[^>]* href="([^"]+)"/, /portfolio\/1\/(\d+)<\/id>/g);
    const before = await followAtom();
    expect(before.found).toEqual(ids);
    for (const body of before.archives.values()) {
      expect(body).toContain('<fh:archive/>');
      expect(body).toContain(
        'rel="current" type="application/atom+xml" href="https://b.example/feeds/b/ada.atom"',
      );
    }
    const { found } = await follow('/feeds/b/ada.json', /"next_url":"([^"]+)"/, /portfolio\/1\/(\d+)"/g);
    expect(found).toEqual(ids);
    // Archives stay what they are when items are added.
    await importInto(url, ['-'], ndjson(...of(count + 1, count + 20)));
    const after = await followAtom();
    expect(after.found).toHaveLength(count + 20);
    for (const [path, body] of before.archives)
      expect([path, after.archives.get(path)]).toEqual([path, body]);
    // Nor when the oldest item goes: the others are where they were.
    await done(['takedown', '--database-url', url, '--family', 'portfolio', '--item', '1']);
    for (const path of after.archives.keys())
      expect([path, (await ask(own, path, { headers })).status]).toEqual([
        path,
        path.includes('/1.') ? 404 : 200,
      ]);
    expect((await followAtom()).found).toEqual(after.found.slice(0, -1));
    for (const item of ['1', '0', '99999999999999999999', 'x'])
      expect((await ask(own, `/feeds/b/ada/${item}.atom`, { headers })).status).toBe(404);
    // Shared caches keep an archive for one item in eight only.
    const caching: unknown[] = [];
    for (const id of after.found.slice(0, -1))
      caching.push((await ask(own, `/feeds/b/ada/${id}.atom`, { headers })).headers['cache-control']);
    expect(caching.filter((text) => text !== 'private, no-cache').length).toBeLessThanOrEqual(
      caching.length / 5 + 1,
    );
  });

  test('do not depend on the host that was asked', async () => {
    const from = async (host: string) => (await ask(server, '/feeds/b/ada.atom', { headers: { host } })).body;
    expect(await from('evil.example')).toBe(await from('profiles.example'));
  });
});

describe('oEmbed', () => {
  const page = 'https://b.example/people/b/ada';
  const headers = { host: 'b.example' };
  let own: LocalServer;
  beforeAll(async () => {
    own = await serveHere({ BASE_URL_B: 'https://b.example/b', SITE_NAME: 'Atelier' });
  });
  const embed = (query: Record<string, string>) =>
    ask(own, `/oembed?${new URLSearchParams(query)}`, { headers });

  test('is found from the page, and has what version 1.0 requires of its type', async () => {
    const { body } = await ask(own, '/people/b/ada', { headers });
    const [, address = ''] = /type="application\/json\+oembed"[^>]* href="([^"]+)"/.exec(body) ?? [];
    const path = address.replaceAll('&amp;', '&').replace('https://b.example', '');
    const got = await ask(own, path, { headers });
    expect([got.status, got.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    const answer = json(got);
    expect(answer).toMatchObject({
      version: '1.0',
      type: 'rich',
      title: 'Ada Lindqvist (@ada)',
      author_name: 'Ada Lindqvist',
      author_url: page,
      provider_name: 'Atelier',
      provider_url: 'https://b.example/',
    });
    for (const name of ['width', 'height'])
      expect([name, Number.isInteger(answer[name])]).toEqual([name, true]);
    const [, framed = ''] = /<iframe src="([^"]+)"/.exec(answer.html) ?? [];
    expect((await ask(own, framed.replace('https://b.example', ''), { headers })).status).toBe(200);
    expect(answer.html).toContain(`<a href="${page}">`);
    const known = { ...headers, 'if-none-match': got.headers.etag as string };
    expect((await ask(own, path, { headers: known })).status).toBe(304);
  });

  test('takes no more room than there is', async () => {
    const narrow = json(await embed({ url: page, maxwidth: '300', other: 'x' }));
    expect([narrow.type, narrow.html]).toEqual(['link', undefined]);
    expect(json(await embed({ url: page, maxwidth: '600' })).type).toBe('rich');
  });

  test.each([
    [{ url: page, format: 'xml' }, 501],
    [{}, 404],
    [{ url: 'https://b.example/people/b/nobody' }, 404],
    [{ url: 'https://b.example/people/x/ada' }, 404],
    [{ url: 'https://evil.example/people/b/ada' }, 404],
    [{ url: 'https://b.example@evil.example/people/b/ada' }, 404],
    [{ url: 'file:///people/b/ada' }, 404],
    [{ url: 'https://b.example/people/b/%00' }, 404],
    [{ url: 'https://b.example/people/b/%zz' }, 404],
    [{ url: 'https://b.example/people/b/ADA/?x=1#item-1' }, 200],
  ] as [Record<string, string>, number][])('%j is answered %i', async (query, status) => {
    expect((await embed(query)).status).toBe(status);
  });
});

describe('the image of the card', () => {
  test('shows name, counts and items as text and initials, and loads nothing', async () => {
    const { body, headers } = await ask(server, '/card/b/ada.svg');
    for (const words of [
      'Ada Lindqvist',
      '@ada',
      '84 shots',
      '9,120 followers',
      'Kartblad till barnen',
      '>KT<',
    ])
      expect(body).toContain(words);
    expect(body.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:/);
    expect(headers['cross-origin-resource-policy']).toBe('cross-origin');
  });

  test('stays small and within its frame whatever the texts', async () => {
    const long = 'WIDE WORDS '.repeat(300);
    const records = [
      folio(1, 'long', { name: long.repeat(10), bio: long.replaceAll(' ', '') }),
      ...Array.from({ length: 15 }, (_, nth) => shot(nth + 1, 1, { title: long })),
      blog(2, 'long', { name: long, bio: '🗺️'.repeat(500) }),
      ...Array.from({ length: 15 }, (_, nth) => post(nth + 1, 2, { post_details: long })),
    ];
    const own = await serveHere({ DATABASE_URL: await databaseOf(...records) });
    for (const variant of ['a', 'b']) {
      const { body } = await ask(own, `/card/${variant}/long.svg`);
      expect(body.length).toBeLessThan(8 * 1024);
      for (const [, words = ''] of body.matchAll(/<text[^>]*>(.*?)<\/text>/g))
        expect(words.length).toBeLessThan(90);
      expect(Number(/height="(\d+)"/.exec(body)?.[1])).toBeLessThan(600);
    }
  });
});

describe('the directory', () => {
  const ADDRESSES = ['/people/b', '/people/b.json', '/sitemap.xml', '/sitemap-b-1.xml', '/robots.txt'];
  const settings = { DIRECTORY: 'on', BASE_URL_B: 'https://b.example/b' };
  const headers = { host: 'b.example' };
  const names = Array.from({ length: 101 }, (_, nth) => `u${String(nth + 1).padStart(4, '0')}`);
  let url: string;
  let listed: LocalServer;
  beforeAll(async () => {
    const people = names.map((name, nth) => folio(nth + 1, name.toUpperCase(), { name: `<${name}>` }));
    url = await databaseOf(...people);
    listed = await serveHere({ DATABASE_URL: url, ...settings });
  });
  const get = (path: string, more = {}) => ask(listed, path, { headers: { ...headers, ...more } });

  test('is off unless it is turned on: nothing tells who is there', async () => {
    const off = await serveHere({
      DATABASE_URL: url,
      EXAMPLE_USERS: 'none',
      BASE_URL_B: settings.BASE_URL_B,
    });
    for (const path of ADDRESSES) {
      const { status, body } = await ask(off, path, { headers: { ...headers, accept: 'text/html' } });
      expect([path, status, body.toLowerCase().includes('u0001')]).toEqual([path, 404, false]);
    }
  });

  test('off, pages about missing users name only users whom the operator chose', async () => {
    const own = await databaseOf(folio(1, 'stays'), folio(2, 'leaves'));
    const html = { accept: 'text/html' };
    const pagesOf = async (more: Record<string, string>) => {
      const served = await serveHere({ DATABASE_URL: own, TAKEDOWN_STATUS: '410', ...more });
      const answers = await Promise.all(
        ['/people/b/nobody', '/people/b', '/people/b/leaves'].map((path) =>
          ask(served, path, { headers: html }),
        ),
      );
      return answers.map(({ status, body }) => [status, body.includes('>stays<')]);
    };
    await done(['takedown', '--database-url', own, '--family', 'portfolio', 'leaves']);
    const statuses = [404, 404, 410];
    expect(await pagesOf({})).toEqual(statuses.map((status) => [status, false]));
    expect(await pagesOf({ EXAMPLE_USERS: 'stays' })).toEqual(statuses.map((status) => [status, true]));
    const served = await serveHere({ DATABASE_URL: own, TAKEDOWN_STATUS: '410' });
    const { body } = await ask(served, '/people/b/leaves', { headers: html });
    expect(body).toContain('“leaves” was removed');
    expect(body).not.toContain('Check the spelling');
  });

  test('lists everybody once by name, in pages of 50, with links on', async () => {
    const found: string[] = [];
    let page = '/people/b';
    let [pages, name] = [0, ''];
    for (let next: string | undefined = page; next !== undefined; pages++) {
      page = next;
      const { body } = await get(page);
      found.push(...[...body.matchAll(/<li><a href="b\/([^"]+)"/g)].map(([, user = '']) => user));
      const [, link] = /rel="next" href="([^"]+)"/.exec(body) ?? [];
      next = link && new URL(link, `http://x${page}`).href.slice('http://x'.length);
      name ||= body;
    }
    expect([pages, found]).toEqual([3, names.map((user) => user.toUpperCase())]);
    expect(name).toContain('&lt;u0001&gt;');
    expect(name).toContain('<link rel="canonical" href="https://b.example/people/b">');
  });

  test('has the way back, the number of people, and letters that lead to the first of each', async () => {
    const first = await get('/people/b');
    expect(first.body).toContain('<p>101 people, by user name.</p>');
    expect(first.body).not.toContain('rel="prev"');
    const back = async (path: string) => /rel="prev" href="([^"]+)"/.exec((await get(path)).body)?.[1];
    expect(await back('/people/b?after=U0100')).toBe('b?after=U0050');
    expect(await back('/people/b?after=U0050')).toBe('b');
    expect(await back('/people/b?after=u0003')).toBe('b');
    const others = ['9lives', '_x', 'Ada', 'al', 'elodie', 'ßmith', '朝倉', 'zoe', 'Élan'];
    const DATABASE_URL = await databaseOf(...others.map((name, nth) => folio(nth + 1, name)));
    const own = await serveHere({ DATABASE_URL, DIRECTORY: 'on' });
    const { body } = await ask(own, '/people/b');
    const letters = [...body.matchAll(/<a href="(b[^"]*)">(\p{L}+)<\/a> /gu)];
    const found = letters.map(async ([, href = '', letter]) => {
      const { body } = await ask(own, `/people/${href}`);
      return [letter, decodeURIComponent(/<li><a href="b\/([^"]+)"/.exec(body)?.[1] ?? '')];
    });
    expect(await Promise.all(found)).toEqual([
      ...[
        ['A', 'Ada'],
        ['E', 'elodie'],
        ['S', 'ßmith'],
        ['Z', 'zoe'],
        ['É', 'Élan'],
        ['朝', '朝倉'],
      ],
    ]);
  });

  test('finds people by the beginnings of their names; no cache keeps what was looked for', async () => {
    const found = async (q: string) => {
      const { status, headers, body } = await get(`/people/b?${new URLSearchParams({ q })}`);
      const { headers: others, body: text } = await get(`/people/b.json?${new URLSearchParams({ q })}`);
      expect([status, headers['cache-control'], others['cache-control']]).toEqual([
        ...[200, 'private, no-cache', 'private, no-cache'],
      ]);
      const users = [...body.matchAll(/<li><a href="b\/([^"]+)"/g)].map(([, user]) => user);
      const { people, next } = JSON.parse(text);
      expect([people.map(({ username }: { username: string }) => username), next]).toEqual([users, '']);
      return { users, body };
    };
    expect((await found(' U009')).users).toEqual(names.slice(89, 99).map((name) => name.toUpperCase()));
    const many = await found('u');
    expect([many.users.length, many.body.includes('add letters')]).toEqual([50, true]);
    const none = await found('"><b>x');
    expect([none.users, none.body.includes('<b>')]).toEqual([[], false]);
    expect(none.body).toContain('value="&quot;&gt;&lt;b&gt;x"');
    expect(none.body).toContain('<meta name="robots" content="noindex">');
    expect((await found('x'.repeat(3000))).users).toEqual([]);
    // An empty field is the whole list.
    expect((await get('/people/b?q=')).body).toContain('rel="next"');
    expect([(await get('/people/b?q=%')).status, (await get('/people/b.json?q=a&q=b')).status]).toEqual([
      400, 400,
    ]);
    const { headers: page, body } = await get('/people/b');
    expect(page['content-security-policy']).toContain("form-action 'self'");
    expect(body).toMatch(/<form class="search" role="search" action="b">/);
  });

  test('is linked from every page, and the explorer is beside it', async () => {
    for (const path of ['/explore', '/docs', '/people/b', '/people/b/u0001', '/people/b/nobody']) {
      const { body } = await get(path, { accept: 'text/html' });
      const [, href = ''] = /<a href="([^"]*)">People<\/a>/.exec(body) ?? [];
      expect([path, new URL(href, `http://x${path}`).pathname]).toEqual([path, '/people']);
    }
    expect((await get('/people/b/u0001')).body).toContain('href="../../explore?variant=b&amp;user=U0001"');
    expect((await get('/docs')).body).toContain('href="explore">Explorer</a>');
    expect((await ask(server, '/explore')).body).toBe((await ask(server, '/')).body);
    expect((await ask(server, '/people/b/ada')).body).not.toContain('>People</a>');
  });

  test('suggests on pages of unknown users those whose names begin alike', async () => {
    const people = [folio(1, 'first'), folio(2, 'okafor', { name: 'Quinn Okafor' }), folio(3, 'quincy')];
    const own = await serveHere({ DATABASE_URL: await databaseOf(...people), DIRECTORY: 'on' });
    const suggested = async (name: string) => {
      const { body } = await ask(own, `/people/b/${encodeURIComponent(name)}`, {
        headers: { accept: 'text/html' },
      });
      return [...body.matchAll(/<li><a href="[^"]*"><bdi>([^<]*)</g)].map(([, user]) => user);
    };
    expect(await suggested('quinn')).toEqual(['okafor']);
    expect(await suggested('quinnn')).toEqual(['okafor']);
    expect(await suggested('QUIXY')).toEqual(['quincy', 'okafor']);
    expect(await suggested('xyz')).toEqual(['first', 'okafor', 'quincy']);
    expect(await suggested('😀')).toEqual(['first', 'okafor', 'quincy']);
  });

  test('is JSON for builds: names, pages and the address of the next', async () => {
    const found: string[] = [];
    let next = '/people/b.json';
    while (next !== '') {
      const { people, next: following } = json(await get(next));
      found.push(...people.map(({ username }: { username: string }) => username));
      next = following && `/people/${following}`;
    }
    expect(found).toEqual(names.map((user) => user.toUpperCase()));
    const { people } = json(await get('/people/b.json?after=u0100'));
    expect(people).toEqual([{ username: 'U0101', name: '<u0101>', page: 'b/U0101' }]);
  });

  test.each([
    ['/people/b.json?after=%00', 400, 'USER_MALFORMED'],
    ['/people/b?after=%zz', 400, 'BAD_ESCAPE'],
    ['/people/b?after=u1&after=u2', 400, 'QUERY_MALFORMED'],
    ['/oembed?url=%zz', 400, 'BAD_ESCAPE'],
    ['/oembed?url=x&url=x', 400, 'QUERY_MALFORMED'],
    ...['0', '01', '1.0', '0x1', '%201', '1e0', '4'].map(
      (number) => [`/sitemap-b-${number}.xml`, 404, 'ROUTE_NOT_FOUND'] as const,
    ),
  ] as const)('its addresses have one spelling: %s', async (path, status, code) => {
    const answer = await get(path);
    expect([answer.status, json(answer).code]).toEqual([status, code]);
  });

  test('is in sitemaps that robots.txt names, on the host of the pages', async () => {
    const robots = (await get('/robots.txt')).body;
    expect(robots).toBe('User-agent: *\nAllow: /\nSitemap: https://b.example/sitemap.xml\n');
    expect((await get('/sitemap.xml')).body).toContain('<loc>https://b.example/sitemap-b-1.xml</loc>');
    expect((await get('/sitemap-b-1.xml')).body).toContain('<loc>https://b.example/people/b/U0001</loc>');
  });

  test.each([
    '/people/b?after=u0007',
    '/people/b?after=&x=1',
    '/people/b.json?after=x',
    '/people/b?q=x',
    '/oembed?url=https://b.example/people/b/u0001?x=1',
  ])('any number of addresses leaves no copies in shared caches: %s', async (path) => {
    const { status, headers } = await get(path);
    expect([status, headers['cache-control']]).toEqual([200, 'private, no-cache']);
  });

  test('leaves out a user who is taken down at once', async () => {
    const own = await databaseOf(folio(1, 'stays'), folio(2, 'leaves'));
    const served = await serveHere({ DATABASE_URL: own, ...settings });
    const paths = ['/people/b', '/people/b.json', '/sitemap-b-1.xml'];
    for (const path of paths) expect((await ask(served, path, { headers })).body).toContain('leaves');
    await done(['takedown', '--database-url', own, '--family', 'portfolio', 'leaves']);
    for (const path of paths) expect((await ask(served, path, { headers })).body).not.toContain('leaves');
  });

  test('leads from the addresses around it', async () => {
    // The first variant with users, of this host.
    const addresses = { '/': 302, '/people': 302, '/people/': 302, '/people/c/': 301 };
    for (const [path, expected] of Object.entries(addresses)) {
      const { status, headers } = await ask(listed, path);
      const { pathname } = new URL(String(headers.location), `http://x${path}`);
      expect([path, status, pathname]).toEqual([path, expected, '/people/c']);
    }
    const both = await serveHere({ DIRECTORY: 'on' });
    expect((await ask(both, '/people/b')).body).toContain('<a href="a">People with microblogs</a>');
    expect((await ask(both, '/people/a')).body).toContain('<a href="b">People with portfolios</a>');
    expect((await get('/people/b')).body).not.toContain('microblogs');
  });

  test('leads to a variant of the host that was asked; other looks and hosts have other ETags', async () => {
    const hosts = { BASE_URL_A: 'https://a.example', BASE_URL_B: 'https://b.example', BASE_URL_C: '' };
    const first = await serveHere({ DATABASE_URL: url, ...settings, ...hosts });
    const { location } = (await ask(first, '/people', { headers })).headers;
    expect(new URL(String(location), 'http://x/people').pathname).toBe('/people/b');
    const { etag } = (await ask(first, '/people/b', { headers })).headers;
    for (const changed of [
      { ...hosts, SITE_LOGO: 'https://b.example/logo.png' },
      { ...hosts, BASE_URL_B: 'http://b.example' },
    ]) {
      const second = await serveHere({ DATABASE_URL: url, ...settings, ...changed });
      const again = { ...headers, 'if-none-match': String(etag) };
      expect((await ask(second, '/people/b', { headers: again })).status).toBe(200);
    }
  });
});
