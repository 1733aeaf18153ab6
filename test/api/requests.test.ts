// The HTTP interface of the three variants: the status, headers and body of each request, and ETags. What settings change
// is in fixtures/cases/http.txt.
import { METHODS } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { matches } from '../../src/api/http/conditions.ts';
import { databaseOf } from '../support/database.ts';
import { expectedRecord, VARIANTS } from '../support/expected.ts';
import { fixture, tempFile } from '../support/files.ts';
import { ask, json, type Reply, sendRaw } from '../support/http.ts';
import { done } from '../support/run.ts';
import { serveHere } from '../support/serve-here.ts';
import type { LocalServer } from '../support/server.ts';
import { createDocumentJudge } from './document-judge.ts';

// No optional members except those that distinguish the record types.
const BARE = {
  'microblog profile': { totalPost: 0, id: 90001, username: 'bare' },
  'portfolio profile': { totalShots: 0, id: 90001, username: 'bare' },
  post: { id: 90002, user: 90001, date: '2024-01-01 00:00:00' },
  shot: { id: 90002, user_id: 90001, date: '2024-01-01 00:00:00' },
};

const a = '/a/api/';
const b = '/b/api/username';
const ADA = `${a}?user=ada`;
const ADAS = `${b}/ada/shots`;
const ONE = 'https://one.example';
const TWO = 'http://two.example:8080';
const CACHING = 'public, max-age=15, stale-while-revalidate=30, stale-if-error=86400';

let path: string;
let server: LocalServer;
let listed: LocalServer;
let judge: ReturnType<typeof createDocumentJudge>;
beforeAll(async () => {
  path = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'), ...Object.values(BARE));
  server = await serveHere({ DATABASE_URL: path });
  listed = await serveHere({ DATABASE_URL: path, CORS_ORIGIN: `${ONE}, ${TWO}` });
  judge = createDocumentJudge(json(await ask(server, '/openapi.json')));
});

const code = (code: string) => ({ code });
const ADA_A = {
  username: 'ada',
  id: '12',
  bio: expect.stringContaining('Cartographer'),
  totalFollowers: '18420',
};
const ADA_B = {
  username: 'ada',
  id: '7',
  skills: 'cartography,lettering,printmaking,illustration',
  type_account: '2',
};
const LIST = (collection: string) => ({ [collection]: expect.any(Array) });

// Status, expected part of the body, the URLs that get them.
const WIRE: [status: number, body: object, ...urls: string[]][] = [
  [200, ADA_A, `${a}?user=ada`, '/a/api?user=ada', `${a}?user=ADA`, `${a}?user=ada&`],
  [200, ADA_A, `${a}?&user=ada&page=2&post_=true&=&x`, `${a}?%75ser=%61da`],
  [200, LIST('posts'), `${a}?user=ada&post=true`, `${a}?post=true&user=ada`, '/a/api?post=true&user=ada'],
  [200, { username: 'Mo Farouk' }, `${a}?user=Mo+Farouk`, `${a}?user=mo%20farouk`],
  [200, ADA_B, `${b}/ada`, `${b}/aDa`, `${b}/%61da`, `${b}/ada?unknown=1&user=x`, '/c/api/username/ada'],
  [200, ADA_A, `${a}?user=ada&x=%&x=%`],
  [200, LIST('Shots'), `${b}/ada/shots`, `${b}/ada/shots?page=2`],
  [200, LIST('Posts'), '/c/api/username/ada/shots'],
  [200, { status: 'ok' }, '/healthz'],
  [200, { status: 'ready' }, '/readyz'],
  [400, code('USER_MISSING'), a, '/a/api', `${a}?user`, `${a}?user=`, `${a}?USER=ada`, `${a}?post=true`],
  [400, code('USER_MISSING'), b, `${b}/`, `${b}//shots`],
  [400, code('USER_REPEATED'), `${a}?user=ada&user=ada`, `${a}?user=ada&us%65r=`, `${a}?user=%zz&user=x`],
  [400, code('POST_MALFORMED'), `${a}?user=ada&post=`, `${a}?user=ada&post`, `${a}?user=ada&post=false`],
  [400, code('POST_MALFORMED'), `${a}?user=ada&post=True`, `${a}?user=ada&post=1`],
  [400, code('POST_MALFORMED'), `${a}?user=ada&post=true&post=true`],
  [400, code('BAD_ESCAPE'), `${a}?user=%zz`, `${a}?user=50%`, `${a}?user=%C3`, `${a}?user=%ED%A0%80`],
  [400, code('BAD_ESCAPE'), `${a}?user=ada&post=%`, `${b}/%zz`, `${b}/50%`, `${b}/%C3/shots`],
  [400, code('USER_MALFORMED'), `${a}?user=a%00b`, `${a}?user=a%0Ab`, `${a}?user=%C2%85`, `${b}/a%00b`],
  [400, code('USER_MALFORMED'), `${b}/a%1Fb/shots`],
  [414, code('USER_TOO_LONG'), `${a}?user=${'x'.repeat(256)}`, `${a}?user=${'%F0%9D%92%9C'.repeat(256)}`],
  [414, code('USER_TOO_LONG'), `${b}/${'x'.repeat(256)}`, `${b}/${'%E6%97%A5'.repeat(256)}/shots`],
  [
    414,
    code('USER_TOO_LONG'),
    `/c/api/username/${'x'.repeat(256)}`,
    `/c/api/username/${'x'.repeat(300)}/shots`,
  ],
  [414, code('USER_TOO_LONG'), `${a}?user=${'x'.repeat(300)}&post=true`, `${b}/${'%41'.repeat(256)}`],
  [414, code('URI_TOO_LONG'), `${a}?user=${'x'.repeat(9000)}`, `${b}/${'x'.repeat(9000)}`],
  [404, code('USER_NOT_FOUND'), `${a}?user=nobody`, `${a}?user=nobody&post=true`],
  [404, code('USER_NOT_FOUND'), `${a}?user=${'x'.repeat(255)}`, `${a}?user=undefined`, `${b}/nobody`],
  [404, code('USER_NOT_FOUND'), `${b}/nobody/shots`, `${b}/${'%F0%9D%92%9C'.repeat(255)}`],
  [404, code('USER_NOT_FOUND'), '/c/api/username/nobody/shots'],
  [404, code('ROUTE_NOT_FOUND'), '/nothing', '/a', '/A/api/?user=ada', '/a/api/username/ada'],
  [404, code('ROUTE_NOT_FOUND'), '/a/api/ada', '/b/api/?user=ada', `${b}/ada/posts`, `${b}/ada/Shots`],
  [404, code('ROUTE_NOT_FOUND'), `${b}/ada/shots/1`, '//a/api/?user=ada', '/a/../b/api/username/ada'],
];

/** Requests with another method, or with headers. */
const SPECIAL: [method: string, url: string, headers: Record<string, string>, status: number][] = [
  ['GET', ADA, { 'if-none-match': '*' }, 304],
  ['POST', ADA, {}, 405],
  ['GET', ADA, { expect: 'wonders' }, 417],
  ['OPTIONS', ADA, {}, 204],
  ['OPTIONS', ADAS, { 'access-control-request-method': 'GET' }, 204],
  ['OPTIONS', '/nothing', { 'access-control-request-method': 'GET' }, 204],
];

const cors = ({ headers }: Reply) => [
  headers['access-control-allow-origin'],
  headers['access-control-expose-headers'],
  headers.vary?.split(', ').toSorted().join(', '),
];
/** Lookups may be compressed, errors are not; what is missing elsewhere may be a page. */
function varying(url: string, status: number): string[] {
  if (/^\/[a-z]\/api/.test(url)) return status === 200 || status === 304 ? ['Accept-Encoding'] : [];
  return status === 404 ? ['Accept'] : [];
}
const BRIEFLY = 'max-age=5, stale-while-revalidate=0';
/** What is missing outside the API may be a page for browsers, so no proxy may keep it. */
const briefly = (url: string) => (/^\/[a-z]\/api/.test(url) ? BRIEFLY : `private, ${BRIEFLY}`);
function freshness(url: string, status: number): string {
  if (status === 404) return briefly(url);
  return url.endsWith('z') || status > 304 ? 'no-store' : CACHING;
}

/** What every answer of the API has: what the document says, CORS, how long it is fresh, nothing to be guessed. */
function expectOpen(reply: Reply, method: string, url: string, status: number): void {
  const { headers } = reply;
  expect([url, judge.faultOf(url, { method }, reply)]).toEqual([url, undefined]);
  expect([url, reply.status, ...cors(reply)]).toEqual([
    ...[url, status, '*', expect.stringContaining('ETag')],
    varying(url, status)[0],
  ]);
  expect(headers['access-control-allow-credentials']).toBeUndefined();
  expect(headers['x-content-type-options']).toBe('nosniff');
  if (method !== 'OPTIONS') expect(headers['cache-control']).toBe(freshness(url, status));
}

function expectJson({ headers, body }: Reply): void {
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
  expect(headers['transfer-encoding']).toBeUndefined();
}

/** Origins that a list of others lets in, and those that it does not. */
async function expectListed(method: string, url: string, more: Record<string, string>, status: number) {
  const from = async (origin?: string) => {
    const headers = origin === undefined ? more : { ...more, origin };
    const reply = await ask(listed, url, { method, headers });
    expect({ url, status: reply.status }).toEqual({ url, status });
    return cors(reply);
  };
  const vary = [...varying(url, status), 'Origin'].join(', ');
  for (const origin of [ONE, TWO])
    expect(await from(origin)).toEqual([origin, expect.stringContaining('ETag'), vary]);
  const others = [
    'https://three.example',
    `${ONE}.evil.example`,
    'http://one.example',
    'null',
    '*',
    undefined,
  ];
  for (const origin of others) expect(await from(origin)).toEqual([undefined, undefined, vary]);
}

describe('requests', () => {
  test.each(WIRE)('%i %j', async (status, body, ...urls) => {
    for (const url of urls) {
      const reply = await ask(server, url);
      expectOpen(reply, 'GET', url, status);
      expectJson(reply);
      expect(json(reply)).toMatchObject(body);
      if (status >= 400) {
        expect(Object.keys(json(reply))).toEqual(['statusCode', 'code', 'error', 'message']);
        expect(json(reply).statusCode).toBe(String(status));
      }
      for (const value of Object.values(json(reply)).flatMap((one) =>
        Array.isArray(one) ? one.flatMap(Object.values) : [one],
      ))
        expect(value).toBeTypeOf('string');
      const head = await ask(server, url, { method: 'HEAD' });
      const { date: _get, connection: _c, 'keep-alive': _k, ...expected } = reply.headers;
      expect({ url, status: head.status, body: head.body }).toEqual({ url, status, body: '' });
      expect(head.headers).toMatchObject(expected);
    }
    await expectListed('GET', urls[0] as string, {}, status);
  });

  test.each(SPECIAL)('%s %s %j is answered %i', async (method, url, more, status) => {
    for (const origin of [undefined, 'https://page.example', 'null']) {
      const headers = origin === undefined ? more : { ...more, origin };
      const reply = await ask(server, url, { method, headers });
      expectOpen(reply, method, url, status);
      if (status < 400) expect([reply.body, reply.headers['content-type']]).toEqual(['', undefined]);
      if (status === 304) expect(reply.headers['content-length']).toBeUndefined();
      if (method === 'OPTIONS') expect(reply.headers.allow).toBe('GET, HEAD, OPTIONS');
    }
    await expectListed(method, url, more, status);
  });

  test('431 and 429 are as the document says', async () => {
    const long = { headers: { 'x-long': 'x'.repeat(20_000) } };
    const limited = await serveHere({ RATE_LIMIT: '1/1m' });
    const replies = [await ask(server, ADA, long), await ask(limited, ADA), await ask(limited, ADA)];
    expect(replies.map(({ status }) => status)).toEqual([431, 200, 429]);
    expect(replies.map((reply) => judge.faultOf(ADA, {}, reply))).toEqual(Array(3).fill(undefined));
  });

  test('any other method is 405, whatever the address', async () => {
    const urls = VARIANTS.flatMap(({ profileOf, itemsOf }) => [
      profileOf('ada'),
      itemsOf('ada'),
      profileOf('no'),
    ]);
    for (const method of METHODS.filter((each) => !['GET', 'HEAD', 'OPTIONS', 'CONNECT'].includes(each)))
      for (const url of [...urls, '/healthz', '/readyz', '/nothing']) {
        const reply = await ask(server, url, { method });
        expect({ method, url, status: reply.status }).toEqual({ method, url, status: 405 });
        expect({ allow: reply.headers.allow, code: json(reply).code }).toEqual({
          allow: 'GET, HEAD, OPTIONS',
          code: 'METHOD_NOT_ALLOWED',
        });
        expectJson(reply);
      }
  });

  test.each(VARIANTS)('$variant fills in absent members', async ({ profile, item, collection, ...urls }) => {
    expect(json(await ask(server, urls.profileOf('bare')))).toEqual(expectedRecord(profile, BARE[profile]));
    expect(json(await ask(server, urls.itemsOf('bare')))).toEqual({
      [collection]: [expectedRecord(item, BARE[item])],
    });
  });
});

// `E` stands for the response's ETag, E for the text inside its quotes.
const MATCHING = [
  ...['"E"', 'W/"E"', '*', ' * ', '"x", "E"', '"E","x"', '"x" , W/"y" ,"E" , "z"', 'W/"x",W/"E"'],
  ...['"a,b", "E"', ',, "E" ,,', 'junk, "E"', '"E", junk', '"x\\", "E"', '"E-gzip"'],
  `${'"x", '.repeat(99)}"E"`,
];
const OTHERS = [
  ...['"x"', '"x", "y"', 'W/"x"', '""', '', ',', 'E', '"E', 'E"', '""E""', '" E"', 'w/"E"', 'W / "E"'],
  ...["'E'", '"E-br"', '"x"E"', '"*"', '**'],
  // Behind 100 tags, and behind as many commas.
  ...[`${'"x", '.repeat(100)}"E"`, `${','.repeat(15_000)}"E"`],
];
const readEtag = async (url: string) => (await ask(server, url)).headers.etag as string;

describe('If-None-Match', () => {
  test.each([
    [304, MATCHING],
    [200, OTHERS],
  ])('is answered %i', async (status, patterns) => {
    for (const url of [ADA, ADAS]) {
      const etag = await readEtag(url);
      for (const pattern of patterns)
        for (const method of ['GET', 'HEAD']) {
          const headers = { 'if-none-match': pattern.replaceAll('E', etag.slice(1, -1)) };
          const reply = await ask(server, url, { method, headers });
          expect({ pattern, status: reply.status, etag: reply.headers.etag }).toEqual({
            pattern,
            status,
            etag,
          });
          if (status === 304 || method === 'HEAD') expect(reply.body).toBe('');
        }
    }
  });

  test('several header lines count as one list', async () => {
    const lines = `If-None-Match: "x"\r\nIf-None-Match: ${await readEtag(ADA)}\r\n`;
    const bytes = `GET ${ADA} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`;
    expect((await sendRaw(server, bytes))[0]?.status).toBe(304);
  });

  test.each([
    ['GET', `${a}?user=nobody`, 404],
    ['HEAD', `${a}?user=nobody`, 404],
    ['GET', `${b}/nobody/shots`, 404],
    ['GET', '/nothing', 404],
    ['GET', a, 400],
    ['POST', ADA, 405],
    ['GET', '/healthz', 200],
  ])('turns no %s %s into 304', async (method, url, status) => {
    for (const tag of ['*', '"x"', await readEtag(ADA)])
      expect((await ask(server, url, { method, headers: { 'if-none-match': tag } })).status).toBe(status);
  });

  test('takes linear time for any header value', () => {
    for (const junk of ['"', ' ', ',', 'W/', '"x" ', '\\"', ' "', ', '])
      expect(matches(junk.repeat(200_000), '"x"')).toBe(false);
  });
});

test('ETags are strong, and the same in every process', async () => {
  const copy = tempFile('export.ndjson', await done(['export', '--database-url', path]));
  const other = await serveHere({ DATABASE_URL: await databaseOf(copy) });
  for (const url of VARIANTS.flatMap(({ profileOf, itemsOf }) => [profileOf('ada'), itemsOf('ada')])) {
    const here = await ask(server, url);
    expect(here.headers.etag).toMatch(/^"[\x21\x23-\x7e]{16,}"$/);
    for (const same of [url, url.replace('ada', 'ADA'), url]) {
      const { headers, body } = await ask(other, same);
      expect({ etag: headers.etag, body }).toEqual({ etag: here.headers.etag, body: here.body });
    }
  }
});
