// Caching and CORS on every kind of response: ETag, 304, Cache-Control, cross-origin requests.
import { beforeAll, describe, expect, test } from 'vitest';
import { matches } from '../src/http/answer.ts';
import { VARIANTS } from './expected.ts';
import { fixture, tempFile } from './files.ts';
import { ask, databaseOf, done, json, type LocalServer, type Reply, sendRaw } from './rig.ts';
import { serveHere } from './serve-here.ts';

const ADA = '/a/api/?user=ada';
const ADAS = '/b/api/username/ada/shots';
const ADDRESSES = VARIANTS.flatMap(({ profileOf, itemsOf }) => [profileOf('ada'), itemsOf('ada')]);
const CACHING = 'public, max-age=15, stale-while-revalidate=30, stale-if-error=86400';

let server: LocalServer;
let path: string;
beforeAll(async () => {
  path = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
  server = await serveHere({ DATABASE_URL: path });
});

const computeEtag = async (url: string, from = server) => (await ask(from, url)).headers.etag as string;

// `E` stands for the response's ETag, E for the text inside its quotes.
const MATCHING = [
  ...['"E"', 'W/"E"', '*', ' * ', '"x", "E"', '"E","x"', '"x" , W/"y" ,"E" , "z"', 'W/"x",W/"E"'],
  ...['"a,b", "E"', ',, "E" ,,', 'junk, "E"', '"E", junk', '"x\\", "E"', '"E-gzip"'],
  `${'"x", '.repeat(500)}"E"`,
];
const OTHERS = [
  ...['"x"', '"x", "y"', 'W/"x"', '""', '', ',', 'E', '"E', 'E"', '""E""', '" E"', 'w/"E"', 'W / "E"'],
  ...["'E'", '"E-br"', '"x"E"', '"*"', '**'],
];

describe('If-None-Match', () => {
  test.each([
    [304, MATCHING],
    [200, OTHERS],
  ])('is answered %i', async (status, patterns) => {
    for (const pattern of patterns)
      for (const url of [ADA, ADAS]) {
        const etag = await computeEtag(url);
        const header = pattern.replaceAll('E', etag.slice(1, -1));
        for (const method of ['GET', 'HEAD']) {
          const reply = await ask(server, url, { method, headers: { 'if-none-match': header } });
          expect([pattern, reply.status, reply.headers.etag]).toEqual([pattern, status, etag]);
          if (status === 304 || method === 'HEAD') expect(reply.body).toBe('');
        }
      }
  });

  test('several header lines count as one list', async () => {
    const etag = await computeEtag(ADA);
    const lines = `If-None-Match: "x"\r\nIf-None-Match: ${etag}\r\n`;
    const [reply] = await sendRaw(
      server,
      `GET ${ADA} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`,
    );
    expect(reply?.status).toBe(304);
  });

  test.each(['/a/api/?user=nobody', '/b/api/username/nobody/shots', '/nothing'])(
    '%s is 404 whatever the tag',
    async (url) => {
      for (const tag of ['*', '"x"', await computeEtag(ADA)])
        for (const method of ['GET', 'HEAD'])
          expect((await ask(server, url, { method, headers: { 'if-none-match': tag } })).status).toBe(404);
    },
  );

  test('never turns a 400, a 405 or a probe into 304', async () => {
    const headers = { 'if-none-match': '*' };
    expect((await ask(server, '/a/api/', { headers })).status).toBe(400);
    expect((await ask(server, ADA, { method: 'POST', headers })).status).toBe(405);
    expect((await ask(server, '/healthz', { headers })).status).toBe(200);
  });

  test('takes linear time for any header value', () => {
    for (const junk of ['"', ' ', ',', 'W/', '"x" ', '\\"', ' "', ', '])
      expect(matches(junk.repeat(200_000), '"x"')).toBe(false);
  });
});

describe('ETag', () => {
  let other: LocalServer;
  beforeAll(async () => {
    const copy = tempFile('export.ndjson', await done(['export', '--database-url', path]));
    other = await serveHere({ DATABASE_URL: await databaseOf(copy) });
  });

  test.each(ADDRESSES)('%s: strong, and the same in every process and for HEAD', async (url) => {
    const here = await ask(server, url);
    const there = [await ask(other, url), await ask(other, url.replace('ada', 'ADA')), await ask(other, url)];
    expect(here.headers.etag).toMatch(/^"[\x21\x23-\x7e]{16,}"$/);
    for (const reply of there)
      expect([reply.headers.etag, reply.body]).toEqual([here.headers.etag, here.body]);
    expect((await ask(server, url, { method: 'HEAD' })).headers.etag).toBe(here.headers.etag);
  });
});

/** Every kind of response: method, URL, additional headers, status. */
const KINDS: [method: string, url: string, headers: Record<string, string>, status: number][] = [
  ['GET', ADA, {}, 200],
  ['HEAD', ADA, {}, 200],
  ['GET', ADAS, {}, 200],
  ['GET', ADA, { 'if-none-match': '*' }, 304],
  ['GET', '/a/api/', {}, 400],
  ['GET', '/b/api/username/%zz', {}, 400],
  ['GET', '/a/api/?user=nobody', {}, 404],
  ['GET', '/nothing', {}, 404],
  ['POST', ADA, {}, 405],
  ['GET', `/b/api/username/${'x'.repeat(300)}`, {}, 414],
  ['GET', `/${'x'.repeat(9000)}`, {}, 414],
  ['GET', ADA, { expect: 'wonders' }, 417],
  ['GET', '/healthz', {}, 200],
  ['GET', '/readyz', {}, 200],
  ['OPTIONS', ADA, {}, 204],
  ['OPTIONS', ADA, { 'access-control-request-method': 'GET' }, 204],
];

const cors = ({ headers }: Reply) => [
  headers['access-control-allow-origin'],
  headers['access-control-expose-headers'],
  headers.vary,
];
/** Lookups may be compressed, errors are not. */
const codings = (url: string, status: number) =>
  url.includes('/api/') && (status === 200 || status === 304) ? ['Accept-Encoding'] : [];
const PREFLIGHT = {
  'access-control-request-method': 'GET',
  'access-control-request-headers': 'if-none-match,x-anything',
};

describe('CORS_ORIGIN *', () => {
  test.each(KINDS)(
    'any site may read %s %s %j, status %i, and knows how long it is fresh',
    async (...kind) => {
      const [method, url, more, status] = kind;
      const fresh = status === 404 ? 'max-age=5' : url.endsWith('z') || status > 304 ? 'no-store' : CACHING;
      for (const origin of [undefined, 'https://page.example', 'null']) {
        const headers = origin === undefined ? more : { ...more, origin };
        const reply = await ask(server, url, { method, headers });
        expect([reply.status, ...cors(reply)]).toEqual([
          status,
          '*',
          expect.stringContaining('ETag'),
          codings(url, status)[0],
        ]);
        expect(reply.headers['access-control-allow-credentials']).toBeUndefined();
        expect(reply.headers['x-content-type-options']).toBe('nosniff');
        if (method !== 'OPTIONS') expect(reply.headers['cache-control']).toBe(fresh);
      }
    },
  );

  test.each([
    ['/explorer.js', undefined, 'same-origin'],
    ['/people/b/nobody', undefined, 'same-origin'],
    ['/feeds/b/nobody.json', '*', 'cross-origin'],
    ['/card/b/ada.svg', '*', 'cross-origin'],
  ])('data is for other sites, pages are not, errors included: %s', async (url, origin, policy) => {
    const { headers } = await ask(server, url);
    expect([headers['access-control-allow-origin'], headers['cross-origin-resource-policy']]).toEqual([
      origin,
      policy,
    ]);
    expect([headers['x-content-type-options'], headers['referrer-policy']]).toEqual([
      'nosniff',
      'no-referrer',
    ]);
  });

  test.each([ADA, '/nothing'])('answers the preflight for %s', async (url) => {
    const reply = await ask(server, url, {
      method: 'OPTIONS',
      headers: { origin: 'https://page.example', ...PREFLIGHT },
    });
    expect(reply.status).toBe(204);
    expect(reply.headers['access-control-allow-methods']?.split(/, */)).toEqual(
      expect.arrayContaining(['GET', 'HEAD']),
    );
    expect(reply.headers['access-control-allow-headers']).toMatch(/^\*$|if-none-match/i);
    expect(Number(reply.headers['access-control-max-age'])).toBeGreaterThanOrEqual(600);
  });
});

describe('CORS_ORIGIN with a list of origins', () => {
  let listed: LocalServer;
  beforeAll(async () => {
    listed = await serveHere({
      DATABASE_URL: path,
      CORS_ORIGIN: 'https://one.example, http://two.example:8080',
    });
  });

  test.each(KINDS)('may read %s %s %j, status %i', async (method, url, more, status) => {
    const from = async (origin?: string) => {
      const headers = origin === undefined ? more : { ...more, origin };
      return cors(await ask(listed, url, { method, headers }));
    };
    const vary = [...codings(url, status), 'Origin'].join(', ');
    for (const origin of ['https://one.example', 'http://two.example:8080'])
      expect(await from(origin)).toEqual([origin, expect.stringContaining('ETag'), vary]);
    for (const origin of [
      'https://three.example',
      'https://one.example.evil.example',
      'http://one.example',
      'null',
      '*',
      undefined,
    ])
      expect(await from(origin)).toEqual([undefined, undefined, vary]);
    expect((await ask(listed, url, { method, headers: more })).status).toBe(status);
  });
});

test('CORS_ORIGIN none allows no origin', async () => {
  const closed = await serveHere({ CORS_ORIGIN: 'none' });
  for (const url of [ADA, '/nothing']) {
    const reply = await ask(closed, url, { headers: { origin: 'https://page.example' } });
    expect(cors(reply)).toEqual([undefined, undefined, codings(url, reply.status)[0]]);
  }
});

describe('Cache-Control', () => {
  test('is a setting', async () => {
    const quick = await serveHere({ CACHE_CONTROL: 'private, max-age=1' });
    const ok = await ask(quick, ADA);
    const same = await ask(quick, ADA, { headers: { 'if-none-match': ok.headers.etag as string } });
    expect([ok, same].map((reply) => [reply.status, reply.headers['cache-control']])).toEqual([
      [200, 'private, max-age=1'],
      [304, 'private, max-age=1'],
    ]);
    expect((await ask(quick, '/a/api/?user=nobody')).headers['cache-control']).toBe('max-age=5');
  });

  test('CDN-Cache-Control is on the same responses, and on no error', async () => {
    const cdn = await serveHere({ CDN_CACHE_CONTROL: 'max-age=3600, stale-if-error=86400', DIRECTORY: 'on' });
    const targeted = async (url: string, headers = {}) => {
      const reply = await ask(cdn, url, { headers });
      return [reply.status, reply.headers['cache-control'] === CACHING, reply.headers['cdn-cache-control']];
    };
    const KEPT = 'max-age=3600, stale-if-error=86400';
    for (const url of [
      ...[ADA, '/a/api/?user=ada&post=true', '/b/api/username/ada/shots', '/people/a/ada', '/card/a/ada.svg'],
      ...['/feeds/a/ada.atom', '/openapi.json', '/people/a', '/people/a.json'],
    ])
      expect([url, ...(await targeted(url))]).toEqual([url, 200, true, KEPT]);
    expect(await targeted(ADA, { 'if-none-match': '*' })).toEqual([304, true, KEPT]);
    for (const [url, status] of [
      ['/a/api/?user=nobody', 404],
      ['/a/api/', 400],
      ['/people/a/nobody', 404],
      ['/healthz', 200],
    ] as const)
      expect([url, ...(await targeted(url))]).toEqual([url, status, false, undefined]);
    expect((await ask(server, ADA)).headers).not.toHaveProperty('cdn-cache-control');
  });

  test('a 304 has no headers that describe a body', async () => {
    const reply = await ask(server, ADA, { headers: { 'if-none-match': '*' } });
    expect([reply.headers['content-type'], reply.headers['content-length']]).toEqual([undefined, undefined]);
    expect(json(await ask(server, ADA)).username).toBe('ada');
  });
});
