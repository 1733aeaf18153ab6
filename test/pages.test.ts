// The explorer's files, the card and the sample pictures as HTTP sees them: headers, ETags, and when they are there.
import { readdirSync, readFileSync } from 'node:fs';
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
  const PREFIX = 'https://vitrine.example/samples/';
  const named = new Set<string>();
  for (const file of ['microblog.ndjson', 'portfolio.ndjson'])
    for (const value of readRecords(fixture(file)).flatMap((record) => Object.values(record)))
      if (typeof value === 'string' && value.startsWith(PREFIX)) named.add(value.slice(PREFIX.length));

  test('every picture that a sample record names is served', async () => {
    expect(named.size).toBeGreaterThan(500);
    for (const name of named) {
      const { status, headers, body } = await ask(server, `/samples/${name}`);
      expect([name, status, headers['content-type']]).toEqual([name, 200, 'image/svg+xml']);
      expect(body).toMatch(/^<svg [^>]*>.*<\/svg>\n$/s);
    }
  });

  test('every file is named by a record, small, and inert', () => {
    const folder = fixture('pictures');
    for (const file of readdirSync(folder)) {
      expect([file, named.has(file)]).toEqual([file, true]);
      const svg = readFileSync(join(folder, file), 'utf8');
      expect(svg.length).toBeLessThan(4096);
      // No script, no event handlers, and no reference to anything outside the file.
      expect(svg).not.toMatch(/<(script|foreignObject|style|a|image)\b|\son\w+=|<!/i);
      for (const [, target] of svg.matchAll(/(?:href=|url\()"?([^")]+)/g)) expect(target).toMatch(/^#\w+$/);
      expect(svg.match(/https?:[^"]+/g)).toEqual(['http://www.w3.org/2000/svg']);
    }
  });

  test.each([
    'avatar-.svg',
    'avatar-<x>.svg',
    'avatar-ada',
    'avatar-ada.png',
    'AVATAR-ADA.svg',
    'shot-1-large-large.svg',
    `avatar-${'a'.repeat(100)}.svg`,
    'constructor',
    '..',
    '../microblog.ndjson',
    '../pictures/avatar-ada.svg',
    'avatar-ada.svg\0',
  ])('no picture is called %j', async (name) => {
    expect((await ask(server, `/samples/${encodeURIComponent(name)}`)).status).toBe(404);
  });

  test('the large picture of a record is the same file', async () => {
    const [small, large] = await Promise.all(
      ['shot-11176', 'shot-11176-large'].map((name) => ask(server, `/samples/${name}.svg`)),
    );
    expect([large?.status, large?.body]).toEqual([200, small?.body]);
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
