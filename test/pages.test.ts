// The explorer's files, the card and the sample pictures as HTTP sees them: headers, ETags, and when they are there.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { ask, databaseOf, fixture, json, ROOT, readRecords, type Server, startServer } from './rig.ts';

let server: Server;
beforeAll(async () => {
  server = await startServer();
});

const html = async (of: Server = server) => (await ask(of, '/')).body;
const configurationIn = (page: string) =>
  JSON.parse(/<script id="configuration"[^>]*>([^<]*)<\/script>/.exec(page)?.[1] as string);

const PAGES = [
  ['/', 'text/html; charset=utf-8'],
  ['/explorer.css', 'text/css; charset=utf-8'],
  ['/explorer.js', 'text/javascript; charset=utf-8'],
  ['/explorer/asking.js', 'text/javascript; charset=utf-8'],
  ['/icon.svg', 'image/svg+xml'],
  ['/embed.js', 'text/javascript; charset=utf-8'],
  ['/samples/avatar-ada.svg', 'image/svg+xml'],
] as const;

describe.each(PAGES)('%s', (path, type) => {
  test('GET, HEAD and 304 agree', async () => {
    const got = await ask(server, path);
    expect(got.status).toBe(200);
    expect(got.headers['content-type']).toBe(type);
    expect(got.headers['content-length']).toBe(String(Buffer.byteLength(got.body)));
    expect(got.headers['x-content-type-options']).toBe('nosniff');
    expect(got.headers['referrer-policy']).toBe('no-referrer');
    expect(got.headers.etag).toMatch(/^"[\w-]{22}"$/);
    const head = await ask(server, path, { method: 'HEAD' });
    expect({ ...head.headers, date: '' }).toEqual({ ...got.headers, date: '' });
    expect(head.body).toBe('');
    const again = await ask(server, path, { headers: { 'if-none-match': got.headers.etag as string } });
    expect([again.status, again.body, again.headers.etag]).toEqual([304, '', got.headers.etag]);
    expect(again.headers['cache-control']).toBe(got.headers['cache-control']);
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])('%s is refused', async (method) => {
    const { status, headers, body } = await ask(server, path, { method });
    expect([status, headers.allow, JSON.parse(body).code]).toEqual([
      405,
      'GET, HEAD, OPTIONS',
      'METHOD_NOT_ALLOWED',
    ]);
  });
});

test('the page may run our own files and nothing else', async () => {
  const { headers, body } = await ask(server, '/');
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(body).not.toMatch(/\son\w+=|style=|<style|javascript:/i);
  expect(body.match(/<script(?! id="configuration" type="application\/json")[^>]*>/g)).toEqual([
    '<script type="module" src="explorer.js">',
  ]);
  // Nothing is asked of another host, nor from this host's root: it works below any prefix.
  expect(
    [...body.matchAll(/(?:src|href)="([^"]*)"/g)]
      .map(([, address]) => address)
      .filter((address) => /^(\/|[a-z]+:)/.test(address as string)),
  ).toEqual([]);
});

test('every file that the page and its scripts name is there', async () => {
  const seen = new Set<string>();
  const visit = async (path: string): Promise<void> => {
    if (seen.has(path)) return;
    seen.add(path);
    const { status, body } = await ask(server, path);
    expect([path, status]).toEqual([path, 200]);
    const named = path.endsWith('.js')
      ? body.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)
      : path === '/'
        ? body.matchAll(/(?:src|href)="([\w./-]+\.\w+)"/g)
        : [];
    for (const [, name] of named) await visit(new URL(name as string, `http://x${path}`).pathname);
  };
  await visit('/');
  expect(seen.size).toBeGreaterThan(10);
});

test('the page is told which variants there are, and cannot be broken out of', async () => {
  const odd = await startServer({
    BASE_URL_A: '',
    BASE_URL_B: "/it's$&",
    BASE_URL_C: 'https://c.example/x',
    DOCS: 'off',
  });
  const { variants, docs } = configurationIn(await html(odd));
  expect(variants).toEqual([
    { name: 'b', path: "/it's$&", origin: null, style: 'path', family: 'portfolio', collection: 'Shots' },
    {
      name: 'c',
      path: '/x',
      origin: 'https://c.example',
      style: 'path',
      family: 'portfolio',
      collection: 'Posts',
    },
  ]);
  expect(docs).toBe(false);
});

test('the sample people that the page offers are in both families', async () => {
  const { people } = configurationIn(await html());
  expect(people.length).toBeGreaterThan(5);
  for (const { name, avatar } of people) {
    for (const base of ['/a/api/?user=', '/b/api/username/']) {
      const answer = await ask(server, base + encodeURIComponent(name));
      expect([name, answer.status, json(answer).avatar]).toEqual([name, 200, avatar]);
    }
  }
});

describe('the card', () => {
  test('may be loaded from anywhere, and is small', async () => {
    const { headers, body } = await ask(server, '/embed.js', {
      headers: { origin: 'https://elsewhere.example' },
    });
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers['cross-origin-resource-policy']).toBe('cross-origin');
    expect(gzipSync(body).length).toBeLessThan(6144);
  });

  test('where only some origins may read, they may load it too', async () => {
    const listed = await startServer({ CORS_ORIGIN: 'https://friend.example' });
    for (const path of ['/embed.js', '/samples/avatar-ada.svg']) {
      const friend = await ask(listed, path, { headers: { origin: 'https://friend.example' } });
      expect(friend.headers['access-control-allow-origin']).toBe('https://friend.example');
      const stranger = await ask(listed, path, { headers: { origin: 'https://stranger.example' } });
      expect(stranger.headers['access-control-allow-origin']).toBeUndefined();
    }
  });

  test('is there when the explorer is off; the explorer is not', async () => {
    const off = await startServer({ EXPLORER: 'off', DOCS: 'off' });
    for (const path of ['/', '/explorer.js', '/explorer.css', '/icon.svg', '/explorer/dom.js'])
      expect((await ask(off, path)).status).toBe(404);
    expect((await ask(off, '/embed.js')).status).toBe(200);
    expect((await ask(off, '/samples/avatar-ada.svg')).status).toBe(200);
  });
});

describe('sample pictures', () => {
  test('every picture that the sample data names is drawn', async () => {
    const names = new Set<string>();
    for (const file of ['microblog.ndjson', 'portfolio.ndjson'])
      for (const value of readRecords(fixture(file)).flatMap((record) => Object.values(record)))
        if (typeof value === 'string' && value.startsWith('https://vitrine.example/'))
          names.add(new URL(value).pathname);
    expect(names.size).toBeGreaterThan(500);
    for (const path of names) {
      const { status, body } = await ask(server, path);
      expect([path, status, /^<svg [^>]*>.*<\/svg>$/s.test(body)]).toEqual([path, 200, true]);
      expect(body).not.toMatch(/NaN|undefined|<script|Infinity/);
    }
  });

  test.each([
    'avatar-',
    'avatar-a.b',
    'avatar-<x>',
    'photo-0',
    'photo-x',
    'shot-12345678901234567890',
    'other-1',
    'avatar-ada.png',
    `avatar-${'a'.repeat(100)}`,
    '../app.ts',
  ])('no picture is called %s', async (name) => {
    expect((await ask(server, `/samples/${encodeURIComponent(name)}.svg`)).status).toBe(404);
  });

  test('the same name is the same picture, large or small; another name is another', async () => {
    const [small, large, other] = await Promise.all(
      ['shot-1', 'shot-1-large', 'shot-2'].map(
        async (name) => (await ask(server, `/samples/${name}.svg`)).body,
      ),
    );
    const inside = (svg = '') => svg.slice(svg.indexOf('>'));
    expect(inside(large)).toBe(inside(small));
    expect(inside(other)).not.toBe(inside(small));
    expect(large).not.toBe(small);
  });

  test('are inert when opened by themselves', async () => {
    expect((await ask(server, '/samples/cover-ada.svg')).headers['content-security-policy']).toBe(
      "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    );
  });
});

describe('with data of one’s own', () => {
  let own: Server;
  beforeAll(async () => {
    own = await startServer({
      DATABASE_URL: await databaseOf(fixture('portfolio.ndjson')),
      IMAGE_HOSTS: 'https://i.example, https://j.example:8443',
    });
  });

  test('nothing of the sample data is there', async () => {
    expect(configurationIn(await html(own))).toMatchObject({ samples: false, people: [] });
    expect((await ask(own, '/samples/avatar-ada.svg')).status).toBe(404);
  });

  test('IMAGE_HOSTS is in the policy', async () => {
    expect((await ask(own, '/')).headers['content-security-policy']).toContain(
      "img-src 'self' data: https://i.example https://j.example:8443;",
    );
    const any = await startServer({ IMAGE_HOSTS: '*' });
    expect((await ask(any, '/')).headers['content-security-policy']).toContain("img-src 'self' data: *;");
  });
});

test('no file of the explorer grows out of hand', () => {
  for (const file of [
    'explorer.js',
    'explorer/asking.js',
    'explorer/exhibit.js',
    'explorer/label.js',
    'explorer/trouble.js',
  ])
    expect(readFileSync(join(ROOT, 'src/web', file), 'utf8').split('\n').length).toBeLessThanOrEqual(301);
});
