import { XmlDocument } from 'libxml2-wasm';
import { mf2 } from 'microformats-parser';
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { escapeText } from '../../../src/pages/markup.ts';
import { listOlder } from '../../../src/pages/people/history.ts';
import { openReader } from '../../../src/stores/open.ts';
import { VARIANT_NAMES } from '../../../src/variants.ts';
import { addRecords, databaseOf } from '../../support/database.ts';
import { ugly } from '../../support/files.ts';
import { ask, json } from '../../support/http.ts';
import { change, saveOriginals } from '../../support/importing.ts';
import { blog, folio, post, shot } from '../../support/records.ts';
import { done } from '../../support/run.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

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
});

test('texts are escaped for HTML, XML and both kinds of attributes', () => {
  expect(escapeText(`<a b='1' c="2">&\0`)).toBe('&lt;a b=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\ufffd');
});

test('an import is in the next response', async () => {
  const profile = (name: string) => folio(1, 'ada', { name });
  const url = await databaseOf(profile('Before'));
  const own = await serveHere({ DATABASE_URL: url });
  for (const path of KINDS) expect((await ask(own, path)).body).toContain('Before');
  await addRecords(url, profile('After'));
  for (const path of KINDS) expect((await ask(own, path)).body).toContain('After');
});

test('a page links to files, JSON and feeds that are served, below any prefix', async () => {
  for (const path of ['/people/a/mo%20farouk', '/people/b/o%27neill', '/people/b/%E6%9E%97%E6%99%93']) {
    const { status, body } = await ask(server, path);
    expect({ path, status }).toEqual({ path, status: 200 });
    const links = [...body.matchAll(/<(?:link|script|a)\b[^>]* (?:href|src)="([^"]+)"/g)]
      .map(([, href = '']) => href.replaceAll('&#39;', "'").replaceAll('&amp;', '&'))
      .filter((href) => !/^(http|#)/.test(href));
    expect(links.length).toBeGreaterThan(8);
    for (const href of links) {
      const { pathname, search } = new URL(href, `http://x/deep/down${path}`);
      expect(pathname).toMatch(/^\/deep\/down\//);
      const address = pathname.slice('/deep/down'.length) + search;
      expect({ address, status: (await ask(server, address)).status }).toEqual({ address, status: 200 });
    }
  }
});

const sizesOf = async (url: string) => {
  await using reader = await openReader(url);
  return await reader.historySizes('portfolio', 'ada', { limit: 100 });
};

describe.each([
  ['short', {}],
  ['so long that few of them fit into a part', { description: 'word '.repeat(6000) }],
])('items beyond the newest that are %s', (_, texts) => {
  const COUNT = 60;
  const ids = Array.from({ length: COUNT }, (_, nth) => String(COUNT - nth));
  const LARGEST = 2n ** 63n - 1n;
  const largest = Array.from({ length: COUNT }, (_, nth) => String(LARGEST - BigInt(nth)));
  let url: string;
  let own: LocalServer;
  beforeAll(async () => {
    const records = [folio(1, 'ada'), ...ids.map((id) => shot(id, 1, texts)), folio(2, 'few'), shot(99, 2)];
    records.push(folio(3, 'large'), ...largest.map((id) => shot(id, 3, texts)));
    url = await databaseOf(...records);
    own = await serveHere({ DATABASE_URL: url });
  });

  const linkIn = (body: string, rel: string) =>
    new RegExp(`<link rel="${rel}" href="([^"]*)"`).exec(body)?.[1];
  const follow = async (path: string, rel: string) => {
    const visited = new Map<string, string>();
    for (let at: string | undefined = path; at !== undefined; ) {
      const { status, body } = await ask(own, at);
      expect({ at, status }).toEqual({ at, status: 200 });
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

  test('are on pages that are all listed, also where the way back differs', async () => {
    const listed = listOlder(await sizesOf(url));
    const pages = await Promise.all(
      ['', ...listed.map((id) => `?before=${id}`)].map((query) => ask(own, `/people/b/ada${query}`)),
    );
    const links = pages.flatMap(({ body }) => [linkIn(body, 'next'), linkIn(body, 'prev')]);
    expect(new Set(links.flatMap((link) => /before=(\d+)/.exec(link ?? '')?.[1] ?? []))).toEqual(
      new Set(listed),
    );
  });

  test('are on such pages whatever their ids', async () => {
    expect(shownIn((await follow('/people/b/large', 'next')).values())).toEqual(largest);
    expect((await ask(own, `/people/b/large?before=${LARGEST + 1n}`)).status).toBe(404);
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
    const { headers } = await ask(own, '/people/b/ada/30');
    const again = await ask(own, '/people/b/ADA/30', { headers: { 'if-none-match': String(headers.etag) } });
    expect(again.status).toBe(304);
  });
});

test('pages of older items begin where the newest end, also with shorter addresses of copies', async () => {
  // What is served of the newest fits into a page; the records, which give the sizes, do not.
  const pictureOf = (id: number) => `https://old.example/${id}?${'s'.repeat(1500)}`;
  const ids = Array.from({ length: 20 }, (_, nth) => 20 - nth);
  const items = ids.map((id) => shot(id, 1, { image: pictureOf(id), description: 'word '.repeat(1550) }));
  const url = await databaseOf(folio(1, 'ada'), ...items);
  const file = `${'a'.repeat(64)}.jpg`;
  await saveOriginals(
    url,
    ids.map((id) => ({ url: pictureOf(id), file, bytes: 10, reason: null })),
  );
  await change(url, (writer) => writer.relink('https://new.example/media'));
  const own = await serveHere({ DATABASE_URL: url });
  const { body } = await ask(own, '/people/b/ada');
  const [first] = listOlder(await sizesOf(url));
  expect(/<link rel="next" href="([^"]*)"/.exec(body)?.[1]).toBe(`?before=${first}`);
});

test('names in the bio and the posts of a microblog lead to their pages', async () => {
  const records = [blog(1, 'ada', { bio: 'With @zoë' }), post(1, 1, { post_details: 'For @zoë' })];
  const own = await serveHere({ DATABASE_URL: await databaseOf(...records) });
  const { body } = await ask(own, '/people/a/ada');
  expect(body.match(/<a href="zo%C3%AB"/g)).toHaveLength(2);
});

test('programs read who a page is about, and its items: microformats', async () => {
  const { body } = await ask(server, '/people/b/ada');
  const { items, rels } = mf2(body, { baseUrl: `${server.url}/people/b/ada` });
  // The entries are in the feed of a person, whose first address is that of the page.
  const [feed] = items;
  expect(feed).toMatchObject({ type: ['h-feed'], properties: { author: [{ type: ['h-card'] }] } });
  expect(feed?.properties.author?.[0]).toMatchObject({
    properties: { name: ['Ada Lindqvist'], nickname: ['ada'], uid: [`${server.url}/people/b/ada`] },
  });
  const entries = feed?.children ?? [];
  expect(entries).toHaveLength(15);
  const [first] = entries;
  expect(first?.type).toEqual(['h-entry']);
  for (const name of ['name', 'url', 'published']) expect(first?.properties).toHaveProperty(name);
  expect(rels.me?.length).toBeGreaterThan(0);
  const [url] = first?.properties.url ?? [];
  const page = mf2((await ask(server, String(url).slice(server.url.length))).body, { baseUrl: String(url) });
  const entry = page.items.find(({ type }) => type?.includes('h-entry'));
  expect(entry?.properties.name).toEqual(first?.properties.name);
  expect(entry?.properties).toHaveProperty('category');
});

test('a tile has the title and the price, and nothing twice', async () => {
  const work = { title: 'Lake', description: 'A lake in fog.', tags: 'fog', price_item: '75.00' };
  const links = { url_purchased: 'https://shop.example/1', attachment: 'https://files.example/1.pdf' };
  const records = [folio(1, 'ada'), shot(1, 1, { ...work, ...links }), shot(2, 1, { title: 'Sea' })];
  const own = await serveHere({ DATABASE_URL: await databaseOf(...records) });
  const tiles = (await ask(own, '/people/b/ada')).body.split('<div class="label">').slice(1);
  const texts = tiles.map((tile) =>
    tile
      .slice(0, tile.indexOf('</li>'))
      .replace(/<[^>]*>/g, ' ')
      .split(/\s+/)
      .filter(Boolean)
      .join(' '),
  );
  expect(texts.toSorted()).toEqual(['Lake Price: 75.00', 'Sea']);
  const page = (await ask(own, '/people/b/ada/1')).body;
  for (const part of ['A lake in fog.', 'fog</li>', '75.00', 'https://shop.example/1', '1.pdf'])
    expect(page).toContain(part);
});

test('a tag on the page of a work leads to a search that finds the user, or is no link', async () => {
  const newest = Array.from({ length: 15 }, (_, nth) =>
    shot(nth + 2, 1, { tags: 'Écru,dye', date: '2024-05-01 00:00:00' }),
  );
  const records = [folio(1, 'ada'), shot(1, 1, { tags: 'écru,old', date: '2024-01-01 00:00:00' }), ...newest];
  const url = await databaseOf(...records);
  const own = await serveHere({ DATABASE_URL: url, DIRECTORY: 'on' });
  const { body, headers } = await ask(own, '/people/b/ada/1');
  const [, address = ''] = /href="\.\.\/\.\.\/(b\?q=[^"]+)">écru</.exec(body) ?? [];
  expect((await ask(own, `/people/${address}`)).body).toContain('href="b/ada"');
  expect(body).toMatch(/>old<\/li>/);
  expect((await ask(await serveHere({ DATABASE_URL: url }), '/people/b/ada/2')).body).toMatch(/dye<\/li>/);
  await addRecords(url, shot(2, 1, { tags: 'old', date: '2024-05-01 00:00:00' }));
  const after = await ask(own, '/people/b/ada/1', { headers: { 'if-none-match': String(headers.etag) } });
  expect([after.status, after.body]).toEqual([200, expect.stringMatching(/>old<\/a>/)]);
});

test('the link preview of a user without a picture shows one of the site', async () => {
  const settings = { BASE_URL_B: 'https://b.example', SITE_NAME: 'Hall "1"' };
  const records = [folio(1, 'ada', { avatar: 'https://e.example/a.svg' }), folio(2, 'bob'), shot(1, 2)];
  const own = await serveHere({ DATABASE_URL: await databaseOf(...records), ...settings });
  for (const path of ['ada', 'bob', 'bob/1']) {
    const { body } = await ask(own, `/people/b/${path}`, { headers: { host: 'b.example' } });
    expect(body).toContain('<meta property="og:image" content="https://b.example/preview.png">');
    expect(body).toContain('<meta property="og:image:width" content="1200">');
    expect(body).toContain('<meta property="og:image:alt" content="Hall &quot;1&quot;">');
    expect(body).toContain('<meta name="twitter:card" content="summary_large_image">');
  }
  const response = await fetch(`${own.url}/preview.png`);
  expect(response.headers.get('cache-control')).toBe('public, max-age=86400');
  const picture = await sharp(await response.arrayBuffer()).metadata();
  expect(picture).toMatchObject({ format: 'png', width: 1200, height: 630 });
});

test.each([
  ['se', 'Sweden'],
  ['UK', 'United Kingdom'],
  ['xq', 'XQ'],
])('the country %s is the word %s', async (country, word) => {
  const own = await serveHere({ DATABASE_URL: await databaseOf(blog(1, 'ada', { country })) });
  const { body } = await ask(own, '/people/a/ada');
  expect(body).toContain(`<span class="p-country-name">${word}</span>`);
});

test('the API is linked at the foot of a page, not in its navigation', async () => {
  for (const path of ['/people/a/Amara', '/people/b/ada', '/people/b/ada/767']) {
    const { body } = await ask(server, path);
    const [header = '', rest = ''] = body.split('</header>');
    expect(header).not.toMatch(/API|\?variant=/);
    expect(rest.slice(rest.indexOf('<footer>'))).toMatch(/<a href="[^"]*\?variant=[^"]*">API<\/a>/);
  }
});

describe('the page behind Follow', () => {
  test('explains feeds and has the addresses of both, on every host', async () => {
    const bases = { BASE_URL_B: 'https://b.example' };
    const named = await serveHere(bases);
    for (const [at, host, origin] of [
      [server, undefined, ''],
      [named, 'b.example', 'https://b.example'],
    ] as const) {
      const headers: Record<string, string> = host === undefined ? {} : { host };
      const { body } = await ask(at, '/people/b/ada', { headers });
      expect(body).toMatch(/<a href="ada\/follow"[^>]*>Follow<\/a>/);
      const page = await ask(at, '/people/b/ada/follow', { headers });
      expect(page.body).toContain('A feed reader is an app');
      const shown = [...page.body.matchAll(/<a class="feed-address" href="([^"]*)" dir="ltr">([^<]*)</g)];
      expect(shown.map(([, , text]) => text)).toEqual(
        ['atom', 'json'].map((extension) => `${origin}/feeds/b/ada.${extension}`),
      );
      for (const [, href = ''] of shown) {
        const { pathname } = new URL(href, 'http://x/people/b/ada/follow');
        expect((await ask(at, pathname, { headers })).status).toBe(200);
      }
    }
  });

  test('runs one script of this server, changes with the profile, and is 404 for nobody', async () => {
    const { headers, body } = await ask(server, '/people/b/ada/follow');
    expect(headers['content-security-policy']).toContain("script-src 'self'; connect-src 'self'");
    expect(body.match(/<script\b[^>]*>/g)).toEqual([
      expect.stringMatching(/^<script type="module" src="\.\.\/\.\.\/\.\.\/follow[^"]*\.js">$/),
    ]);
    expect(headers.etag).toContain((await ask(server, '/b/api/username/ada')).headers.etag?.slice(1, -1));
    expect((await ask(server, '/people/b/nobody/follow')).status).toBe(404);
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

  test.each(VARIANT_NAMES)('are text everywhere in variant %s', async (variant) => {
    const names = ['texts', '"><script>alert(2)</script>', '#', '?', 'a/b', '%2e%2e', 'line\u2028s'].map(
      encodeURIComponent,
    );
    for (const name of names) {
      const page = await ask(own, `/people/${variant}/${name}`);
      expect(page.status).toBe(200);
      expect(page.body.match(/<script\b[^>]*>/g)).toEqual(['<script type="application/ld+json">']);
      const follow = await ask(own, `/people/${variant}/${name}/follow`);
      expect(follow.body.match(/<script\b[^>]*>/g)).toHaveLength(1);
      const card = await ask(own, `/card/${variant}/${name}.svg`);
      const atom = await ask(own, `/feeds/${variant}/${name}.atom`);
      for (const { body } of [card, atom]) XmlDocument.fromString(body).dispose();
      for (const { status, body } of [page, follow, card, atom]) {
        expect(status).toBe(200);
        // The tags that are left when attribute values and data are taken out.
        const tags = body.replace(/="[^"]*"/g, '=""').replace(/(<script [^>]*>)\{.*?(?=<\/script>)/g, '$1');
        expect(tags).not.toMatch(/<img src=x|<[^>]*\son\w+=|alert\(\d\)<\/script>/i);
        for (const [, address] of body.matchAll(/ (?:href|src)="([^"]*)"/g))
          expect(address).toMatch(
            /^(https?:\/\/|#|\.\.\/|\?before=\d+$|[\w%.()&#;]+(\/(\d+(\.atom)?|follow))?$)/,
          );
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

test('no legal user takes more than five times the CPU of an ordinary one', async () => {
  const users = {
    ordinary: { description: 'a normal description' },
    ampersands: { description: '&'.repeat(64_000) },
    blanks: { description: `${' '.repeat(64_000)}x`, title: 'a '.repeat(100) },
    tags: { tags: 'a,'.repeat(32_000) },
    quotes: { description: '"'.repeat(30_000), title: '"'.repeat(500) },
    han: { description: '日'.repeat(21_000), title: '日'.repeat(200) },
    links: { description: 'https://e.example/a '.repeat(3200) },
  };
  const names = Object.keys(users);
  let id = 0;
  const records = Object.entries(users).flatMap(([name, more], nth) => [
    folio(nth + 1, name, { bio: nth === 0 ? 'b' : 'a < '.repeat(15_000) }),
    ...Array.from({ length: 30 }, () => shot(++id, nth + 1, { title: 't', ...more })),
  ]);
  const own = await serveHere({ DATABASE_URL: await databaseOf(...records) });
  const least = new Map<string, number>();
  // The items have a hundred times as many bytes. It was 8 to 35 when all of them were read, hashed and parsed.
  const tooDear = () =>
    KINDS.flatMap((path) =>
      names.slice(1).flatMap((name) => {
        const [one = 0, other = 0] = [name, 'ordinary'].map((user) => least.get(path.replace('ada', user)));
        return one < 5 * other ? [] : [`${path.replace('ada', name)}: ${one / other}`];
      }),
    );
  // Something else may run in this process meanwhile, so the least of some rounds counts, of many where it is busy.
  for (let round = 0; round < 6 || (round < 60 && tooDear().length > 0); round++)
    for (const path of KINDS)
      for (const name of names) {
        const address = path.replace('ada', name);
        const before = process.cpuUsage();
        await ask(own, address);
        const { user, system } = process.cpuUsage(before);
        least.set(address, Math.min(least.get(address) ?? Number.POSITIVE_INFINITY, user + system));
      }
  expect(tooDear()).toEqual([]);
});

test('long texts are whole on pages, which stay smaller than 200 KB', async () => {
  const long = (of: string, bytes: number) => `${of.repeat(bytes / Buffer.byteLength(of))}END`;
  const work = (nth: number, user: number, description: string) => shot(nth + 1, user, { description });
  const records = [
    blog(1, 'ordinary', { bio: long("It's long. ", 6000) }),
    ...Array.from({ length: 15 }, (_, nth) => post(nth + 1, 1, { post_details: long('words ', 3000) })),
    folio(2, 'huge', { bio: long('日', 60_000) }),
    ...Array.from({ length: 15 }, (_, nth) => work(nth + 15, 2, long('日', 60_000))),
    folio(3, 'novel', { bio: long('words ', 60_000) }),
    work(30, 3, long('words ', 60_000)),
  ];
  const own = await serveHere({ DATABASE_URL: await databaseOf(...records) });
  const { body } = await ask(own, '/people/a/ordinary');
  expect(body.match(/END<\/p>/g)).toHaveLength(16);
  expect((await ask(own, '/people/b/novel/31')).body).toContain('END</p>');
  for (const path of ['/people/b/huge', '/feeds/b/huge.atom', '/feeds/b/huge.json'])
    expect(Buffer.byteLength((await ask(own, path)).body)).toBeLessThan(200_000);
});

test('the page of an item without a picture has no place for one', async () => {
  const image = 'https://pictures.example/1.png';
  const url = await databaseOf(folio(1, 'ada'), shot(1, 1, { image: '' }), shot(2, 1, { image }));
  const own = await serveHere({ DATABASE_URL: url });
  const bodies = [1, 2].map(async (id) => (await ask(own, `/people/b/ada/${id}`)).body);
  expect(
    (await Promise.all(bodies)).map((body) => /<article.*?class="frame".*?<\/article>/s.test(body)),
  ).toEqual([false, true]);
});

test.each([
  [47, '', 15],
  // Few of them fit into 128 KiB.
  [20, 'word '.repeat(6000), 4],
])(
  'the feed of %i items has the newest, and changed when the first of them came',
  async (count, description, expected) => {
    const shots = Array.from({ length: count }, (_, nth) =>
      shot(nth + 1, 1, { description, date: `2024-01-01 00:${nth + 10}:00` }),
    );
    const own = await serveHere({ DATABASE_URL: await databaseOf(folio(1, 'ada'), ...shots) });
    const dates = Array.from({ length: expected }, (_, nth) => `2024-01-01T00:${count + 9 - nth}:00Z`);
    const { items } = json(await ask(own, '/feeds/b/ada.json'));
    expect(items.map((item: { date_published: string }) => item.date_published)).toEqual(dates);
    const { body } = await ask(own, '/feeds/b/ada.atom');
    const updated = [...body.matchAll(/<updated>(.*?)</g)].map(([, date]) => date);
    expect(updated).toEqual([dates[0], ...dates]);
  },
);

test('the image of the card stays small and within its frame whatever the texts', async () => {
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

describe('a page has another ETag after everything that changes it, and only then', () => {
  const [PERSON, ITEM, LIST] = ['/people/b/ada', '/people/b/ada/8', '/people/b'];
  const PAGES = [PERSON, ITEM, LIST];
  const MEDIA_URL = 'https://b.example/media';
  const FILE = `${'a'.repeat(64)}.jpg`;
  const PICTURE = 'https://old.example/picture.jpg';
  const base = { DIRECTORY: 'on', BASE_URL_B: 'https://b.example', MEDIA_URL };
  const shotOf = (id: number, more = {}) =>
    shot(id, 1, { date: `2026-01-${10 + id} 00:00:00`, large_image: PICTURE, ...more });
  const ada = { avatar: PICTURE, cover_image: 'https://elsewhere.example/cover.jpg' };
  const records = [folio(1, 'ada', ada), folio(2, 'bob')];
  const shots = Array.from({ length: 15 }, (_, nth) => shotOf(nth + 1));
  let url: string;
  let own: LocalServer;
  beforeAll(async () => {
    url = await databaseOf(...records, ...shots);
    await saveOriginals(url, [{ url: PICTURE, file: FILE, bytes: 9, reason: null }]);
    await change(url, (writer) => writer.relink(MEDIA_URL));
    await change(url, (writer) => writer.saveFacts(FILE, measured));
    own = await serveHere({ ...base, DATABASE_URL: url });
  });

  async function read(from: LocalServer) {
    const headers = { host: 'b.example' };
    return await Promise.all(
      PAGES.map(async (path) => {
        const { body, headers: found } = await ask(from, path, { headers });
        return { path, body, etag: String(found.etag) };
      }),
    );
  }

  /** The pages with another body; these, and no others, have another ETag. */
  async function changed(before: Awaited<ReturnType<typeof read>>, after: LocalServer): Promise<string[]> {
    const found: string[] = [];
    for (const [nth, { path, body, etag }] of (await read(after)).entries()) {
      const old = before[nth];
      expect([path, etag === old?.etag]).toEqual([path, body === old?.body]);
      const known = { host: 'b.example', 'if-none-match': String(old?.etag) };
      expect((await ask(after, path, { headers: known })).status).toBe(body === old?.body ? 304 : 200);
      if (body !== old?.body) found.push(path);
    }
    return found;
  }

  const load = (...more: object[]) => addRecords(url, ...more);
  const takeDown = (...which: string[]) =>
    done(['takedown', '--database-url', url, '--family', 'portfolio', ...which]);
  const measured = { width: 800, height: 600, color: 'aabbcc', small: [{ width: 480 }] };
  const EVENTS: [name: string, happen: () => Promise<unknown>, pages: string[]][] = [
    ['nothing', async () => {}, []],
    ['a profile', () => load(folio(1, 'ada', { ...ada, name: 'Ada' })), PAGES],
    ['an item', () => load(shotOf(8, { title: 'Another' })), [PERSON, ITEM]],
    [
      'an older item, to which a link leads',
      () => load(shotOf(16, { date: '2025-01-01 00:00:00' })),
      [PERSON],
    ],
    ['a newer neighbour', () => load(shotOf(17, { date: '2026-01-18 12:00:00' })), [PERSON, ITEM]],
    ['an older neighbour', () => takeDown('--item', '7'), [PERSON, ITEM]],
    [
      'what is known of a picture',
      () => change(url, (writer) => writer.saveFacts(FILE, { ...measured, color: '000000' })),
      PAGES,
    ],
    ['another user', () => load(folio(3, 'cara')), [LIST]],
    ['a user who was taken down', () => takeDown('bob'), [LIST]],
  ];
  test.each(EVENTS)('in the data: %s', async (_name, happen, pages) => {
    const before = await read(own);
    await happen();
    expect(await changed(before, own)).toEqual(pages);
  });

  test.each([
    ['SITE_NAME', 'Gallery'],
    ['SITE_LOGO', 'https://b.example/logo.png'],
    ['SITE_URL', 'https://gallery.example'],
    ['ACCENT', '#aa0000'],
    ['IMAGE_HOSTS', 'https://img.example'],
    ['MEDIA_URL', 'https://b.example/copies'],
    ['BASE_URL_B', 'http://b.example'],
    ['DIRECTORY', 'off'],
  ])('in the settings: %s', async (name, value) => {
    const before = await read(own);
    const other = await serveHere({ ...base, DATABASE_URL: url, [name]: value });
    const after = await read(other);
    const others = after.filter(({ body }, nth) => body !== before[nth]?.body);
    expect(others).not.toEqual([]);
    for (const { path, etag } of others)
      expect(before.find((page) => page.path === path)?.etag).not.toBe(etag);
  });
});
