// The doctor: no fault behind nginx as in the guide, and the exact faults of other configurations.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { CHECKS, diagnose, OTHERS } from '../../../src/tools/doctor/doctor.ts';
import type { ExaminedSite, Send } from '../../../src/tools/doctor/site.ts';
import { atEnd } from '../../support/at-end.ts';
import { databaseOf } from '../../support/database.ts';
import { fixture, ROOT } from '../../support/files.ts';
import { freePort } from '../../support/free-port.ts';
import { withoutProxy } from '../../support/fronts.ts';
import { startSite } from '../../support/mirror-site.ts';
import { runNginx } from '../../support/proxies.ts';
import { run } from '../../support/run.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

let server: LocalServer;
beforeAll(async () => {
  server = await serveHere({
    DATABASE_URL: await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson')),
  });
});

const LOOKUPS = { profile: '/p', items: '/i' };
/** The parts of a site that one check reads. A part with a wrong name does not compile. */
const siteWith = (parts: Partial<ExaminedSite>) => parts as ExaminedSite;

/** What nginx is told in addition to the correct configuration, or instead of it. */
interface Change {
  readonly add?: string;
  readonly pass?: string;
  readonly server?: string;
  readonly location?: string;
  readonly gzip?: string;
  /** In place of the directive of HTTP/1.1, and of that of Vary. */
  readonly version?: string;
  readonly vary?: string;
  /** Where the doctor asks. */
  readonly base?: string;
}

interface ProxyCase {
  readonly name: string;
  readonly nginx: Change;
  /** The checks that find something broken. */
  readonly broken: readonly string[];
  /** Words of the report, which tell findings of one check apart. */
  readonly says?: string;
}

const CORS = 'Access-Control-Allow-Origin';
const CACHE = 'proxy_cache OWN; add_header X-Cache-Status $upstream_cache_status always;';
const CACHE_BY_HOST = `${CACHE} proxy_cache_key $http_host$request_uri;`;
const CACHE_AGAINST_HEADERS = `${CACHE} proxy_ignore_headers Cache-Control Expires;`;
const CACHE_OF_404S_FOR_A_DAY = `${CACHE_AGAINST_HEADERS} proxy_cache_valid 200 1m; proxy_cache_valid 404 1d;`;
const NO_ACCEPT_ENCODING = 'proxy_set_header Accept-Encoding "";';
const SMALL_BUFFERS = 'client_header_buffer_size 1k; large_client_header_buffers 4';

const CASES: readonly ProxyCase[] = [
  { name: 'nothing', nginx: {}, broken: [], says: 'ok              address          variant b at' },
  { name: 'nothing, variant c', nginx: { base: '/c' }, broken: [], says: 'variant c at' },
  { name: 'nothing, asked at the root', nginx: { base: '' }, broken: [], says: 'variant a at' },
  {
    name: 'the prefix cut off',
    nginx: { location: '/b/', pass: 'http://UPSTREAM/' },
    broken: ['address', 'encoded names'],
    says: '/b/b',
  },
  {
    name: 'a prefix put before',
    nginx: { pass: 'http://UPSTREAM/x$request_uri' },
    broken: ['address'],
    says: 'serves nothing at this',
  },
  {
    name: 'nothing behind it',
    nginx: { pass: 'http://127.0.0.1:1' },
    broken: ['address'],
    says: 'the proxy does not reach Vitrine',
  },
  {
    name: 'a redirect',
    nginx: { add: 'return 301 https://x.example/y;' },
    broken: ['address'],
    says: 'redirects to "https://x.example/y',
  },
  {
    name: 'Host set twice',
    nginx: { add: 'proxy_set_header Host two.example;' },
    broken: ['address'],
    says: '400 HOST_MISSING: An HTTP/1.1',
  },
  {
    name: 'a page of its own',
    nginx: { add: 'return 200 "<html>";' },
    broken: ['address'],
    says: 'which is not from Vitrine',
  },
  {
    name: 'names decoded by it',
    nginx: { location: '/b/', pass: 'http://UPSTREAM/b/' },
    broken: ['encoded names'],
    says: '%2F (slash)',
  },
  {
    name: 'one address for all',
    nginx: { base: '/a', location: '/a/api', add: 'rewrite ^ /a/api/? break;' },
    broken: ['query'],
    says: 'the query is cut off',
  },
  {
    name: 'the path cut off',
    nginx: { location: '/b/api/username/', add: 'rewrite ^ /b/api/username/ break;' },
    broken: ['encoded names'],
    says: 'the path is cut off',
  },
  {
    name: 'the query cut off',
    nginx: { base: '/a', pass: 'http://UPSTREAM$uri' },
    broken: ['query'],
    says: 'the query is cut off',
  },
  {
    name: 'post cut off',
    nginx: { base: '/a', pass: 'http://UPSTREAM$uri?user=$arg_user' },
    broken: ['query'],
    says: '`post=true` does not',
  },
  {
    name: 'a cache by path',
    nginx: { base: '/a', add: 'proxy_cache OWN; proxy_cache_key $uri;' },
    broken: ['query'],
    says: 'the cache key',
  },
  { name: 'HEAD refused', nginx: { add: 'if ($request_method = HEAD) { return 405; }' }, broken: ['HEAD'] },
  {
    name: 'another type',
    nginx: { add: 'proxy_hide_header Content-Type; add_header Content-Type text/plain;' },
    broken: ['content type'],
  },
  {
    name: 'own error pages',
    nginx: { add: 'proxy_intercept_errors on; error_page 400 404 /sorry.html;' },
    broken: ['error bodies', 'CORS'],
  },
  {
    name: 'CORS twice',
    nginx: { add: `add_header ${CORS} * always;` },
    broken: ['CORS'],
    says: 'comes twice with 200, "*, *"',
  },
  {
    name: 'CORS only on success',
    nginx: { add: `proxy_hide_header ${CORS}; add_header ${CORS} *;` },
    broken: ['CORS'],
    says: 'is missing from 404',
  },
  {
    name: 'no preflight',
    nginx: { add: 'if ($request_method = OPTIONS) { return 405; }' },
    broken: ['CORS'],
    says: 'preflight (OPTIONS) gets 405',
  },
  { name: 'ETag hidden', nginx: { add: 'proxy_hide_header ETag;' }, broken: ['ETag'] },
  {
    name: 'a filter',
    nginx: { add: 'sub_filter_types application/json; sub_filter_last_modified on; sub_filter nowhere x;' },
    broken: [],
    says: 'weakened on the way, which still works',
  },
  {
    name: 'If-None-Match dropped where gzip is accepted',
    nginx: {
      add: 'set $known $http_if_none_match; if ($http_accept_encoding ~ gzip) { set $known ""; } proxy_set_header If-None-Match $known;',
    },
    broken: ['304'],
    says: 'the current ETag of a compressed response gets 200',
  },
  { name: 'If-None-Match dropped', nginx: { add: 'proxy_set_header If-None-Match "";' }, broken: ['304'] },
  {
    name: 'Cache-Control hidden',
    nginx: { add: 'proxy_hide_header Cache-Control;' },
    broken: ['304', 'Cache-Control', 'error caching'],
  },
  {
    name: 'caching forbidden',
    nginx: { add: 'expires -1;' },
    broken: ['Cache-Control'],
    says: 'forbids caching: "no-cache"',
  },
  {
    name: 'a cookie added',
    nginx: { add: 'add_header Set-Cookie a=b;' },
    broken: ['Cache-Control'],
    says: 'Set-Cookie is added',
  },
  {
    name: 'errors told to be kept',
    nginx: { add: 'add_header Cache-Control "public, max-age=3600" always;' },
    broken: ['Cache-Control', 'error caching'],
    says: 'a 404 may be cached for 3600 s',
  },
  {
    name: 'errors kept',
    nginx: { add: `${CACHE_AGAINST_HEADERS} proxy_cache_valid any 10m;` },
    broken: ['error caching', 'cache key'],
    says: 'a 400 comes from a',
  },
  {
    name: '404s kept for a day',
    nginx: { add: `${CACHE_OF_404S_FOR_A_DAY} proxy_cache_key $http_host$request_uri;` },
    broken: ['error caching'],
    says: 'after 6.5 s',
  },
  {
    name: '404s kept as they may be',
    nginx: { add: CACHE_BY_HOST },
    broken: [],
    says: 'a 404 is cached for 5 s',
  },
  {
    name: 'a cache that does not say so',
    nginx: { add: CACHE_OF_404S_FOR_A_DAY.replace(/add_header.*?;/, '') },
    broken: [],
    says: 'could not tell  error caching',
  },
  {
    name: 'one cache entry for all hosts',
    nginx: { add: `${CACHE} proxy_cache_key $request_uri;` },
    broken: ['cache key'],
  },
  {
    name: 'a copy for each parameter',
    nginx: { add: CACHE_BY_HOST },
    broken: [],
    says: 'parameters fill the cache',
  },
  {
    name: 'a copy for each spelling of Accept-Encoding',
    nginx: { add: `${CACHE} proxy_cache_key $http_host$uri$http_accept_encoding;` },
    broken: [],
    says: 'a copy for each spelling',
  },
  {
    name: 'Accept-Encoding dropped',
    nginx: { add: NO_ACCEPT_ENCODING },
    broken: [],
    says: 'the proxy compresses each answer again',
  },
  {
    name: 'header buffers of 1 KB',
    nginx: { server: `${SMALL_BUFFERS} 1k;` },
    broken: ['header size'],
    says: '3 KB in the address, gets 414',
  },
  {
    name: 'header buffers of 3.5 KB',
    nginx: { server: `${SMALL_BUFFERS} 3500;` },
    broken: ['header size'],
    says: '4 KB of cookies gets 400',
  },
  {
    name: 'a weak ETag of its own',
    nginx: { add: `proxy_hide_header ETag; add_header ETag 'W/"own"';` },
    broken: ['ETag', '304'],
  },
  {
    name: 'a cache that keeps nothing',
    nginx: { add: `${CACHE} proxy_no_cache 1;` },
    broken: ['cache'],
    says: 'no proxy_no_cache',
  },
  {
    name: 'Vary ignored',
    nginx: { gzip: 'off', add: `${CACHE_BY_HOST} proxy_ignore_headers Vary;` },
    broken: ['compression'],
    says: 'follow Vary: Accept-Encoding',
  },
  {
    name: 'no compression',
    nginx: { gzip: 'off', add: NO_ACCEPT_ENCODING },
    broken: ['compression'],
    says: 'gzip would save most of them',
  },
  {
    name: 'no Vary',
    nginx: { vary: 'gzip_vary off;', add: 'proxy_hide_header Vary;' },
    broken: ['compression'],
    says: 'Vary: Accept-Encoding is missing',
  },
  { name: 'HTTP/1.0 to Vitrine', nginx: { version: 'proxy_http_version 1.0;' }, broken: ['HTTP to Vitrine'] },
  { name: 'connections closed', nginx: { add: 'keepalive_timeout 0;' }, broken: ['connections'] },
];

/** A server block that is correct except for the change. */
function serverBlock(change: Change, port: number): string {
  const { add = '', pass = 'http://UPSTREAM', location = '/', gzip = 'on', server: more = '' } = change;
  const { version = 'proxy_http_version 1.1;', vary = 'gzip_vary on;' } = change;
  return `server {
    listen 127.0.0.1:${port};
    ${more}
    gzip ${gzip}; gzip_types application/json; gzip_proxied any; ${vary}
    location = /healthz { proxy_pass http://UPSTREAM; ${version} }
    location = /sorry.html { internal; return 404 "<html>sorry"; }
    location ${location} {
      ${version} ${add}
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_pass ${pass};
    }
  }`
    .replaceAll('UPSTREAM', `127.0.0.1:${server.port}`)
    .replaceAll('proxy_cache OWN', `proxy_cache of${port}`);
}

/** The checks that a report calls broken. */
const brokenIn = (report: string) =>
  [...report.matchAll(/^broken {8} {2}(.+?) {2}/gm)].map(([, name]) => name);

describe.skipIf(withoutProxy('nginx'))('nginx', () => {
  const ports = new Map<string, number>();
  beforeAll(async () => {
    const free = new Set<number>();
    while (free.size < CASES.length) free.add(await freePort());
    const blocks = [...free].map((port, index) => {
      const { name, nginx } = CASES[index] as ProxyCase;
      ports.set(name, port);
      return serverBlock(nginx, port);
    });
    const caches = [...ports.values()].map(
      (port) => `proxy_cache_path CACHE/${port} keys_zone=of${port}:1m;`,
    );
    await runNginx([...caches, ...blocks].join('\n'), [...ports.values()]);
  });

  // The doctor waits for caches: several at a time.
  test.concurrent.each(CASES)('with $name', async ({ name: proxy, nginx, broken: names, says = '' }) => {
    const { report, broken } = await diagnose({
      base: new URL(`http://127.0.0.1:${ports.get(proxy)}${nginx.base ?? '/b'}`),
      timeout: 10_000,
    });
    expect(brokenIn(report)).toEqual(names);
    expect(broken).toBe(names.length);
    expect(report).toContain(says);
    for (const { name } of CHECKS) expect(report.includes(`To fix ${name}\n  `)).toBe(names.includes(name));
  });

  test('from the command line: what is broken, how to fix it, and the exit code', async () => {
    const { code, stdout, stderr } = await run(['doctor', `http://127.0.0.1:${ports.get('CORS twice')}/b/`]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'vitrine: 1 check found something broken\n' });
    expect(brokenIn(stdout)).toEqual(['CORS']);
    expect(stdout).toContain('\nTo fix CORS\n  Remove whatever adds, sets or hides');
    expect(stdout).toMatch(/\nCompare your nginx with what `vitrine print nginx` prints\.\n$/);
  });
});

test('without an existing user it checks what it can, and exits with 1', async () => {
  const args = ['doctor', `${server.url}/b`, '--user', 'no-such-user'];
  const { code, stdout, stderr } = await run(args);
  expect(brokenIn(stdout)).toEqual([]);
  expect(stdout).toMatch(/^could not tell {2}ETag +needs an existing user: specify one with --user NAME$/m);
  expect(stdout).toMatch(/^ok +error bodies /m);
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'vitrine: 9 checks could not be made\n' });
});

test('samples, which `npm start` serves, are not broken because nothing may cache them', async () => {
  const { url } = await serveHere();
  const { code, stdout } = await run(['doctor', `${url}/b`, '--user', 'ada']);
  expect([code, stdout.match(/^broken.*/gm)]).toEqual([0, null]);
  expect(stdout).toMatch(/^could not tell {2}Cache-Control {4}"no-cache", as for files and samples/m);
});

test('a wrong --variant is recognised by the name of the list', async () => {
  const { report } = await diagnose({ base: new URL(`${server.url}/c`), variant: 'b', timeout: 10_000 });
  expect(report).toMatch(/^broken +address +is not variant b: its list is called Posts, not Shots$/m);
});

describe('a deployment with a rate limit', () => {
  const limited = (rate: string, more: Record<string, string> = {}) =>
    serveHere({ RATE_LIMIT: rate, CACHE_CONTROL: 'max-age=15', ...more });

  test('a limit that resets soon is waited for', async () => {
    const { url } = await limited('40/1s');
    const { report, broken, unchecked } = await diagnose({ base: new URL(`${url}/b`), timeout: 10_000 });
    expect([brokenIn(report), broken, unchecked]).toEqual([[], 0, 0]);
  });

  test.each([5, 20])(
    'of %i an hour: checks that it prevents are not reported as broken',
    async (requests) => {
      const { url } = await limited(`${requests}/1h`);
      const { report, broken, unchecked } = await diagnose({ base: new URL(`${url}/b`), timeout: 10_000 });
      expect([brokenIn(report), broken]).toEqual([[], 0]);
      expect(unchecked).toBeGreaterThan(5);
      expect(report).toContain('too many requests (429), try again in 3');
      expect(report).toContain('exempt this address with RATE_LIMIT_EXEMPT');
    },
  );

  test.each([
    [{}, 'a forged X-Forwarded-For is not believed'],
    [{ TRUST_PROXY: 'loopback' }, 'believes an X-Forwarded-For that the client sent, but from here'],
  ])('with %o', async (settings, words) => {
    const { url } = await limited('10000/1h', settings);
    const { report } = await diagnose({ base: new URL(`${url}/b`), timeout: 10_000 });
    expect(report).toMatch(new RegExp(`^could not tell +client address .*${words}`, 'm'));
  });

  /** Deployments that one machine cannot run. */
  test.each([
    [
      'believes any client',
      (forged: boolean, count: number) => (forged ? 99 : 99 - count),
      'broken',
      'Vitrine believes an X-Forwarded-For that the client sent',
    ],
    [
      'counts other clients as this one',
      (_: boolean, count: number) => 900 - 5 * count,
      'could not tell',
      'requests of others count as ours',
    ],
    [
      'allows all again meanwhile',
      (_: boolean, count: number) => (count > 3 ? 99 : 99 - count),
      'could not tell',
      'a forged X-Forwarded-For is not believed',
    ],
  ])('that %s', async (_, remaining, state, words) => {
    const check = CHECKS.find(({ name }) => name === 'client address') as (typeof CHECKS)[number];
    let count = 0;
    const send: Send = async (_path, headers = {}) => {
      const left = remaining('x-forwarded-for' in headers, ++count);
      return { status: 404, headers: {}, body: Buffer.from(''), all: () => [`"default";r=${left};t=60`] };
    };
    const origin = new URL('https://profiles.example.org');
    const finding = await check.run(
      siteWith({ send, lookups: () => LOOKUPS, unusedName: 'nobody', base: origin }),
    );
    expect({ state: finding.state, text: finding.text }).toEqual({
      state,
      text: expect.stringContaining(words),
    });
  });
});

/** The finding of one check about a site that answers so. */
async function judge(name: string, send: Send) {
  const check = CHECKS.find((each) => each.name === name) as (typeof CHECKS)[number];
  const site = {
    send,
    ...LOOKUPS,
    lookups: () => LOOKUPS,
    unusedName: 'x',
    absent: '/x',
    withoutUser: '/none',
  };
  return await check.run(siteWith({ ...site, user: 'ada' }));
}

const response = (status: number, headers: Record<string, string>, body = '{}') => ({
  status,
  headers,
  body: Buffer.from(body),
  all: (name: string) => [headers[name] ?? []].flat(),
});

describe('a cache that says only Age', () => {
  /** Like HAProxy and Varnish: a copy is 0 seconds old for a second. */
  const fetchedAt = new Map<string, number>();
  const send: Send = async (path, headers = {}) => {
    const key = `${path} ${headers.host}`;
    const at = fetchedAt.get(key) ?? fetchedAt.set(key, Date.now()).get(key) ?? 0;
    const age = `${Math.floor((Date.now() - at) / 1000)}`;
    return response(200, { age, etag: '"x"', 'cache-control': 'max-age=15' }, '{"username":"ada"}');
  };

  test('keeps responses, and has an entry for each host and parameter', async () => {
    expect(await judge('cache', send)).toMatchObject({ state: 'ok', text: 'keeps responses ("Age: 1")' });
    expect(await judge('cache key', send)).toMatchObject({ state: 'ok' });
    const copies = await judge('cache copies', send);
    expect(copies.text).toBe('unknown parameters fill the cache: each value gets a copy of its own');
  });

  test('keeps nothing if each response is new', async () => {
    const anew: Send = async () => response(200, { age: '0' });
    expect((await judge('cache', anew)).text).toContain('it keeps nothing: "Age: 0"');
  });
});

test.each([
  [304, 'ok', 'and 304 from what they stored'],
  [404, 'broken', 'is missing from 404'],
])('access-control-allow-origin that %i leaves out, as Squid does', async (bare, state, words) => {
  const send: Send = async (path, headers = {}) => {
    const found = 'if-none-match' in headers ? 304 : 200;
    const status = path === '/x' || path === '/none' ? 404 : found;
    const allowed: Record<string, string> = status === bare ? {} : { 'access-control-allow-origin': '*' };
    return response(status, { etag: '"x"', 'access-control-expose-headers': 'ETag', ...allowed });
  };
  expect(await judge('CORS', send)).toMatchObject({ state, text: expect.stringContaining(words) });
});

test.each([
  [{ server: 'nginx/1.22.1' }, 'Compare your nginx with what `vitrine print nginx` prints.'],
  [{ via: '1.1 Caddy' }, 'Compare your Caddy with what `vitrine print caddy` prints.'],
  [{ server: 'Apache/2.4.71 (Debian)' }, 'Compare your Apache with its row in the guide Proxies'],
  [{ via: '1.1 vm (squid/5.7)' }, 'Compare your Squid with its row'],
  [{ via: '1.1 varnish (Varnish/7.1)' }, 'Compare your Varnish with its row'],
  [
    { server: 'nginx', via: '1.1 varnish (Varnish/7.1)' },
    '\nCompare your nginx with what `vitrine print nginx` prints.\nCompare your Varnish with its row',
  ],
  [{ server: 'own' }, 'or `vitrine print caddy` prints, or with the guide Proxies, part "Any other proxy".'],
])('the end for %j names what to compare', async (headers, words) => {
  const { url } = await startSite((_, answer) => answer.writeHead(404, headers).end());
  const { report } = await diagnose({ base: new URL(`${url}/b`), timeout: 10_000 });
  expect(report.split('\n\n').at(-1)).toMatch(/^Compare [^\n]+(\nCompare [^\n]+)?$/);
  expect(report).toContain(words);
});

test('the guide has a row for each proxy whose row is named', () => {
  const guide = readFileSync(join(ROOT, 'src/guides/proxies.md'), 'utf8');
  const part = guide.split('\n## ').find((text) => text.startsWith('Any other proxy'));
  for (const proxy of OTHERS) expect(part).toContain(`\n| ${proxy} | `);
});

test('the PROXY protocol is named, with what to turn off', async () => {
  const proxy = createServer((client) => {
    const upstream = connect(server.port, '127.0.0.1');
    upstream.write('PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n');
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) socket.on('error', () => {});
  });
  atEnd(() => proxy.close());
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const { port } = proxy.address() as AddressInfo;
  const { report } = await diagnose({ base: new URL(`http://127.0.0.1:${port}/b`), timeout: 10_000 });
  expect(report).toMatch(
    /^broken +address +Vitrine answers 400 PROXY_PROTOCOL: .* and send X-Forwarded-For\.$/m,
  );
  expect(report).toContain('\nTo fix address\n  Turn the PROXY protocol off (send-proxy in HAProxy');
});

const COPY = `/media/${'ab'.repeat(32)}.png`;
const GOOD = {
  'content-type': 'image/png',
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
};
test.each<[what: string, url: string, headers: Record<string, string>, state: string, words: string]>([
  ['as it was sent', COPY, GOOD, 'ok', 'copies arrive as they were sent'],
  ['missing', `${COPY}?`, GOOD, 'broken', 'a copy gets 404'],
  [
    'of another type',
    COPY,
    { ...GOOD, 'content-type': 'text/html' },
    'broken',
    'is "text/html", not image/png',
  ],
  ['not kept', COPY, { ...GOOD, 'cache-control': 'max-age=60' }, 'broken', 'of a copy is "max-age=60"'],
  ['guessed', COPY, { ...GOOD, 'x-content-type-options': '' }, 'broken', 'nosniff is missing'],
  ['a document', COPY, { ...GOOD, 'content-security-policy': '' }, 'broken', 'sandbox is missing'],
  ['elsewhere', `https://other.example${COPY}`, GOOD, 'could not tell', 'which was not asked'],
  ['private', `http://10.0.0.1${COPY}`, GOOD, 'broken', 'which visitors cannot reach'],
  ['no copy', 'https://other.example/a.png', GOOD, 'ok', 'names no copied pictures'],
])('a picture that is %s', async (_, path, headers, state, words) => {
  const origin = new URL('https://profiles.example.org');
  const avatar = new URL(path, origin).href;
  const send: Send = async (asked) => ({
    status: asked === COPY && path.endsWith('?') ? 404 : 200,
    headers,
    body: Buffer.from(JSON.stringify({ avatar })),
    all: (name) => [(headers as Record<string, string>)[name] ?? ''],
  });
  const check = CHECKS.find(({ name }) => name === 'pictures') as (typeof CHECKS)[number];
  const finding = await check.run(siteWith({ send, base: origin, user: 'ada', ...LOOKUPS }));
  expect({ state: finding.state, text: finding.text }).toEqual({
    state,
    text: expect.stringContaining(words),
  });
});

test.each([
  ['max-age=5, s-maxage=600', 'a 404 may be cached for 600 s'],
  ['max-age=600, s-maxage=5', 'a 404 may be cached for 5 s'],
])('a 404 with Cache-Control %s', async (cacheControl, words) => {
  const send: Send = async () => ({
    status: 404,
    headers: {},
    body: Buffer.from('{"code":"USER_NOT_FOUND"}'),
    all: () => [cacheControl],
  });
  const check = CHECKS.find(({ name }) => name === 'error caching') as (typeof CHECKS)[number];
  const finding = await check.run(siteWith({ send, lookups: () => LOOKUPS, unusedName: 'x' }));
  expect(finding.text).toContain(words);
});

test.each(['(ada', '[x', 'élodie', '\u{1f5bc}'])('published files of a user called %s', async (user) => {
  const profile = JSON.stringify({ username: user });
  const { url } = await startSite((request, response) => {
    const isFile = request.url === '/published.json';
    const isKnown = decodeURIComponent(request.url ?? '').endsWith(`/api/username/${user}`);
    response.setHeader('content-type', 'application/json; charset=utf-8');
    response.writeHead(isFile || isKnown ? 200 : 404).end(isFile ? '{"published":"nginx"}' : profile);
  });
  const { report } = await diagnose({ base: new URL(`${url}/b`), variant: 'b', user, timeout: 10_000 });
  expect(report).toMatch(/^ok +address .*; files of `vitrine publish` for nginx/m);
});

test('nothing listens', async () => {
  const { code, stdout } = await run(['doctor', `http://127.0.0.1:${await freePort()}/b`]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^broken +address +connection refused: nothing listens there\n/);
});

test('control characters of another server do not reach the terminal', async () => {
  const { url } = await startSite((_, response) =>
    response.setHeader('content-type', 'text/\u009b31m').end('\u001b[2J'),
  );
  const { code, stdout } = await run(['doctor', url]);
  expect(code).toBe(1);
  expect(stdout).toContain('which is not from Vitrine');
  expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});
