// The doctor: no fault behind nginx as in the guide, and the exact faults of other configurations.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Send } from '../../src/doctor/deployment.ts';
import { CHECKS, diagnose } from '../../src/doctor/doctor.ts';
import { type ProxyName, REMEDIES, type Remedy } from '../../src/doctor/remedies.ts';
import { freePort } from '../free-port.ts';
import { startNginx, withoutNginx } from '../nginx.ts';
import { runNginx } from '../nginx-any.ts';
import { printed } from '../printed.ts';
import { databaseOf, fixture, type LocalServer, run } from '../rig.ts';
import { serveHere } from '../serve-here.ts';

let server: LocalServer;
beforeAll(async () => {
  server = await serveHere({
    DATABASE_URL: await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson')),
  });
});

interface Case {
  readonly what: string;
  /** In addition to the correct configuration, or instead of it. */
  readonly add?: string;
  readonly pass?: string;
  readonly server?: string;
  readonly location?: string;
  readonly gzip?: string;
  readonly base?: string;
  readonly broken: readonly string[];
  readonly words: string;
}

const CACHE_STATUS = 'add_header X-Cache-Status $upstream_cache_status always;';
const HOST_KEY = 'proxy_cache_key $http_host$request_uri;';
const IGNORE = 'proxy_ignore_headers Cache-Control Expires;';
const CASES: readonly Case[] = [
  { what: 'nothing', broken: [], words: 'ok              address          variant b at' },
  { what: 'nothing, variant a', base: '/a', broken: [], words: 'variant a at' },
  { what: 'nothing, variant c', base: '/c', broken: [], words: 'variant c at' },
  { what: 'nothing, asked at the root', base: '', broken: [], words: 'variant a at' },
  {
    what: 'the prefix cut off',
    location: '/b/',
    pass: 'http://UPSTREAM/',
    broken: ['address', 'encoded names'],
    words: '/b works only when written twice, /b/b',
  },
  {
    what: 'the prefix cut off by rewrite',
    add: 'rewrite ^/b(/.*)$ $1 break;',
    broken: ['address', 'encoded names'],
    words: 'the proxy removes the prefix',
  },
  {
    what: 'a prefix put before',
    pass: 'http://UPSTREAM/x$request_uri',
    broken: ['address'],
    words: 'serves nothing at this address',
  },
  {
    what: 'nothing behind it',
    pass: 'http://127.0.0.1:1',
    broken: ['address'],
    words: 'the proxy does not reach Vitrine',
  },
  {
    what: 'a redirect',
    add: 'return 301 https://elsewhere.example$request_uri;',
    broken: ['address'],
    words: 'redirects to "https://elsewhere.example/b/',
  },
  {
    what: 'a page of its own',
    add: 'return 200 "<html>";',
    broken: ['address'],
    words: 'which is not from Vitrine',
  },
  {
    what: 'names decoded by a path after the name',
    pass: 'http://UPSTREAM/b/',
    location: '/b/',
    broken: ['encoded names'],
    words: '%2F (slash)',
  },
  {
    what: 'names decoded by $uri',
    pass: 'http://UPSTREAM$uri',
    broken: ['encoded names'],
    words: 'does not arrive',
  },
  {
    what: 'every address rewritten to one without a user',
    base: '/a',
    location: '/a/api',
    add: 'rewrite ^ /a/api/? break;',
    broken: ['query'],
    words: 'the query is cut off',
  },
  {
    what: 'the path cut off',
    location: '/b/api/username/',
    add: 'rewrite ^ /b/api/username/ break;',
    broken: ['encoded names'],
    words: 'the path is cut off',
  },
  {
    what: 'the query cut off',
    base: '/a',
    pass: 'http://UPSTREAM$uri',
    broken: ['query'],
    words: 'the query is cut off',
  },
  {
    what: 'post cut off',
    base: '/a',
    pass: 'http://UPSTREAM$uri?user=$arg_user',
    broken: ['query'],
    words: '`post=true` does not arrive',
  },
  {
    what: 'a cache that forgets the query',
    base: '/a',
    add: 'proxy_cache OWN; proxy_cache_key $uri;',
    broken: ['query'],
    words: 'the cache key lacks',
  },
  {
    what: 'HEAD refused',
    add: 'if ($request_method = HEAD) { return 405; }',
    broken: ['HEAD'],
    words: 'gets 405 where GET gets 200',
  },
  {
    what: 'another type',
    add: 'proxy_hide_header Content-Type; add_header Content-Type text/plain;',
    broken: ['content type'],
    words: 'text/plain',
  },
  {
    what: 'error pages of its own',
    add: 'proxy_intercept_errors on; error_page 400 404 /sorry.html;',
    broken: ['error bodies', 'CORS'],
    words: 'gets a page of the proxy instead of JSON',
  },
  {
    what: 'CORS twice',
    add: 'add_header Access-Control-Allow-Origin * always;',
    broken: ['CORS'],
    words: 'comes twice with 200, "*, *"',
  },
  {
    what: 'CORS only on success',
    add: 'proxy_hide_header Access-Control-Allow-Origin; add_header Access-Control-Allow-Origin *;',
    broken: ['CORS'],
    words: 'is missing from 404',
  },
  {
    what: 'CORS stripped',
    add: 'proxy_hide_header Access-Control-Allow-Origin;',
    broken: ['CORS'],
    words: 'is missing from 200',
  },
  {
    what: 'no preflight',
    add: 'if ($request_method = OPTIONS) { return 405; }',
    broken: ['CORS'],
    words: 'a preflight (OPTIONS) gets 405',
  },
  { what: 'ETag hidden', add: 'proxy_hide_header ETag;', broken: ['ETag'], words: 'is removed' },
  {
    what: 'ETag stripped by a filter',
    add: 'sub_filter_types application/json; sub_filter nowhere x;',
    broken: ['ETag'],
    words: 'is removed',
  },
  {
    what: 'ETag weakened by a filter',
    add: 'sub_filter_types application/json; sub_filter_last_modified on; sub_filter nowhere x;',
    broken: [],
    words: 'weakened on the way, which still works',
  },
  {
    what: 'If-None-Match dropped',
    add: 'proxy_set_header If-None-Match "";',
    broken: ['304'],
    words: 'gets 200 with the whole body',
  },
  {
    what: 'Cache-Control hidden',
    add: 'proxy_hide_header Cache-Control;',
    broken: ['304', 'Cache-Control', 'error caching'],
    words: 'caches have to guess',
  },
  {
    what: 'caching forbidden',
    add: 'expires -1;',
    broken: ['Cache-Control'],
    words: 'forbids caching: "no-cache"',
  },
  {
    what: 'a cookie added',
    add: 'add_header Set-Cookie a=b;',
    broken: ['Cache-Control'],
    words: 'Set-Cookie is added',
  },
  {
    what: 'errors told to be kept',
    add: 'add_header Cache-Control "public, max-age=3600" always;',
    broken: ['Cache-Control', 'error caching'],
    words: 'a 404 may be cached for 3600 s',
  },
  {
    what: 'errors kept in its cache',
    add: `proxy_cache OWN; ${IGNORE} proxy_cache_valid any 10m; add_header X-Cache-Status $upstream_cache_status always;`,
    broken: ['error caching', 'cache key'],
    words: 'a 400 comes from a cache',
  },
  {
    what: '404s kept in its cache for a day',
    add: `proxy_cache OWN; ${IGNORE} proxy_cache_valid 200 1m; proxy_cache_valid 404 1d; ${HOST_KEY} ${CACHE_STATUS}`,
    broken: ['error caching'],
    words: 'a 404 still comes from the cache after 6.5 s, although it may be kept for 5 s',
  },
  {
    what: '404s kept in its cache for as long as they may be',
    add: `proxy_cache OWN; ${HOST_KEY} ${CACHE_STATUS}`,
    broken: [],
    words: 'a 404 is cached for 5 s, other errors are not',
  },
  {
    what: 'a cache that does not say so',
    add: `proxy_cache OWN; ${IGNORE} proxy_cache_valid 200 1m; proxy_cache_valid 404 1d;`,
    broken: [],
    words: 'could not tell  error caching',
  },
  {
    what: 'one cache entry for all hosts',
    add: `proxy_cache OWN; proxy_cache_key $request_uri; ${CACHE_STATUS}`,
    broken: ['cache key'],
    words: 'another host gets the response that is cached for this one',
  },
  {
    what: 'a cache with a copy for each parameter',
    add: `proxy_cache OWN; ${HOST_KEY} ${CACHE_STATUS}`,
    broken: [],
    words: 'unknown parameters fill the cache',
  },
  {
    what: 'a cache with a copy for each spelling of Accept-Encoding',
    add: `proxy_cache OWN; proxy_cache_key $http_host$uri$http_accept_encoding; ${CACHE_STATUS}`,
    broken: [],
    words: 'a copy for each spelling of Accept-Encoding',
  },
  {
    what: 'Accept-Encoding dropped',
    add: 'proxy_set_header Accept-Encoding "";',
    broken: [],
    words: 'the proxy compresses each answer again',
  },
  {
    what: 'scripts uncompressed',
    add: 'set $accepted $http_accept_encoding; if ($uri ~ [.]js$) { set $accepted ""; } proxy_set_header Accept-Encoding $accepted;',
    gzip: 'on; gzip_types application/json',
    broken: ['compression'],
    words: 'scripts and styles are not',
  },
  {
    what: 'header buffers of 1 KB',
    server: 'client_header_buffer_size 1k; large_client_header_buffers 4 1k;',
    broken: ['header size'],
    words: 'a user name of 255 characters, 3 KB in the address, gets 414',
  },
  {
    what: 'header buffers of 3,500 bytes',
    server: 'client_header_buffer_size 1k; large_client_header_buffers 4 3500;',
    broken: ['header size'],
    words: 'a request with 4 KB of cookies gets 400',
  },
  {
    what: 'a weak ETag of its own',
    add: `proxy_hide_header ETag; add_header ETag 'W/"own"';`,
    broken: ['ETag', '304'],
    words: 'is weakened on the way, and If-None-Match with it gets 200',
  },
  {
    what: 'a cache that keeps nothing',
    add: 'proxy_cache OWN; proxy_no_cache 1; add_header X-Cache-Status $upstream_cache_status always;',
    broken: ['cache'],
    words: 'it keeps nothing: "MISS"',
  },
  {
    what: 'no compression',
    gzip: 'off',
    add: 'proxy_set_header Accept-Encoding "";',
    broken: ['compression'],
    words: 'gzip would save most of them',
  },
  {
    what: 'no Vary',
    add: 'gzip_vary off; proxy_hide_header Vary;',
    broken: ['compression'],
    words: 'Vary: Accept-Encoding is missing',
  },
  {
    what: 'HTTP/1.0 to Vitrine',
    add: 'proxy_http_version 1.0;',
    broken: ['HTTP to Vitrine'],
    words: 'speaks HTTP/1.0',
  },
  {
    what: 'connections closed',
    add: 'keepalive_timeout 0;',
    broken: ['connections'],
    words: 'closed after every response',
  },
];

/** A server block that is correct except for the case. */
function serverBlock(
  { add = '', pass = 'http://UPSTREAM', location = '/', gzip = 'on', server: more = '' }: Case,
  port: number,
): string {
  const version = add.includes('proxy_http_version') ? '' : 'proxy_http_version 1.1;';
  const vary = add.includes('gzip_vary') ? '' : 'gzip_vary on;';
  return `server {
    listen 127.0.0.1:${port};
    ${more}
    gzip ${gzip}; ${gzip.includes('types') ? '' : 'gzip_types application/json text/javascript;'} gzip_proxied any; ${vary}
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

describe.skipIf(withoutNginx)('nginx', () => {
  const ports = new Map<Case, number>();
  beforeAll(async () => {
    const free = new Set<number>();
    while (free.size < CASES.length) free.add(await freePort());
    for (const [index, port] of [...free].entries()) ports.set(CASES[index] as Case, port);
    const blocks = [...ports].map(([one, port]) => serverBlock(one, port));
    const caches = [...ports.values()].map(
      (port) => `proxy_cache_path CACHE/${port} keys_zone=of${port}:1m;`,
    );
    await runNginx([...caches, ...blocks].join('\n'), [...ports.values()]);
  });

  // The doctor waits for caches: several at a time.
  test.concurrent.each(CASES)('with $what', async (one) => {
    const { base = '/b', words } = one;
    const { report, broken } = await diagnose({
      base: new URL(`http://127.0.0.1:${ports.get(one)}${base}`),
      timeout: 10_000,
    });
    expect([brokenIn(report), broken]).toEqual([one.broken, one.broken.length]);
    expect(report).toContain(words);
    for (const { name } of CHECKS)
      expect(
        report.includes(`To fix ${name}
  ${REMEDIES[name].advice}`),
      ).toBe(one.broken.includes(name));
  });

  test.concurrent.each(['a', 'b', 'c'])(
    'as README.md says: nothing is broken, variant %s',
    async (variant) => {
      const front = await startNginx(server.port);
      const url = `http://127.0.0.1:${front.port}/${variant}`;
      const { code, stdout, stderr } = await run(['doctor', url, '--variant', variant, '--user', 'ada']);
      expect([stderr, brokenIn(stdout)]).toEqual(['', []]);
      expect(stdout.match(/^could not tell .*/gm)).toEqual([
        'could not tell  client address   TRUST_PROXY shows only where RATE_LIMIT is set: compare `client` in the access log',
      ]);
      expect(stdout.trimEnd().split('\n')).toHaveLength(CHECKS.length);
      expect(code).toBe(0);
    },
  );

  test('from the command line: what is broken, how to fix it, and the exit code', async () => {
    const one = CASES.find(({ what }) => what === 'CORS twice') as Case;
    const { code, stdout, stderr } = await run(['doctor', `http://127.0.0.1:${ports.get(one)}/b/`]);
    expect([code, stderr]).toEqual([1, 'vitrine: 1 check found something broken\n']);
    expect(brokenIn(stdout)).toEqual(['CORS']);
    expect(stdout).toContain(`\nTo fix CORS\n  ${REMEDIES.CORS.advice}\n`);
  });
});

test('without an existing user it checks what it can, and exits with 1', async () => {
  const args = ['doctor', `${server.url}/b`, '--user', 'no-such-user'];
  const { code, stdout, stderr } = await run(args);
  expect(brokenIn(stdout)).toEqual([]);
  expect(stdout).toMatch(/^could not tell {2}ETag +needs an existing user: specify one with --user NAME$/m);
  expect(stdout).toMatch(/^ok +error bodies /m);
  expect([code, stderr]).toEqual([1, 'vitrine: 9 checks could not be made\n']);
});

test('a wrong --variant is recognised by the name of the list', async () => {
  const { report } = await diagnose({ base: new URL(`${server.url}/c`), variant: 'b', timeout: 10_000 });
  expect(report).toMatch(/^broken +address +is not variant b: its list is called Posts, not Shots$/m);
});

describe('a deployment with a rate limit', () => {
  const limited = (rate: string, more: Record<string, string> = {}) =>
    serveHere({ RATE_LIMIT: rate, ...more });

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
    ['believes any client', (forged: boolean, count: number) => (forged ? 99 : 99 - count), 'broken'],
    ['counts other clients as this one', (_: boolean, count: number) => 900 - 5 * count, 'could not tell'],
  ])('that %s', async (_, remaining, state) => {
    const check = CHECKS.find(({ name }) => name === 'client address') as (typeof CHECKS)[number];
    let count = 0;
    const send: Send = async (_path, headers = {}) => {
      const left = remaining('x-forwarded-for' in headers, ++count);
      return { status: 404, headers: {}, body: Buffer.from(''), all: () => [`"default";r=${left};t=60`] };
    };
    const origin = new URL('https://profiles.example.org');
    const finding = await check.run({ send, lookups: () => ({}), nobody: 'nobody', origin } as never);
    expect(finding.state).toBe(state);
  });
});

test('remedies name lines that are printed', () => {
  for (const { name } of CHECKS) {
    const { lines = {} }: Remedy = REMEDIES[name];
    for (const [proxy, line] of Object.entries(lines)) expect(printed(proxy as ProxyName)).toContain(line);
  }
  expect(CHECKS.map(({ name }) => name).sort()).toEqual(Object.keys(REMEDIES).sort());
});

test.each([
  [['doctor'], "missing required argument 'base-url'"],
  [['doctor', 'example.org'], 'must be an http or https URL'],
  [['doctor', 'http://x/', '--variant', 'd'], 'Allowed choices are a, b, c'],
])('wrong usage: %j', async (args, words) => {
  const { code, stdout, stderr } = await run(args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(words);
});

describe('another server', () => {
  const others = new Set<ReturnType<typeof createServer>>();
  afterAll(() => {
    for (const other of others) other.closeAllConnections();
  });

  test('nothing listens', async () => {
    const { code, stdout } = await run(['doctor', `http://127.0.0.1:${await freePort()}/b`]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^broken +address +connection refused: nothing listens there\n/);
  });

  test('control characters of another server do not reach the terminal', async () => {
    const other = createServer((_, response) =>
      response.setHeader('content-type', 'text/\u009b31m').end('\u001b[2J'),
    );
    others.add(other);
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { code, stdout } = await run([
      'doctor',
      `http://127.0.0.1:${(other.address() as AddressInfo).port}`,
    ]);
    expect(code).toBe(1);
    expect(stdout).toContain('which is not from Vitrine');
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
});
