// The doctor: nginx set up as README.md says is well; set up wrongly, what is broken is named, and nothing else.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHECKS, examine } from '../../src/doctor/doctor.ts';
import { startNginx, withoutNginx } from '../nginx.ts';
import { runNginx } from '../nginx-any.ts';
import { databaseOf, fixture, run, type Server, startServer } from '../rig.ts';
import { freePort } from '../stress.ts';

let server: Server;
beforeAll(async () => {
  server = await startServer({
    DATABASE_URL: await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson')),
  });
});

interface Case {
  readonly what: string;
  /** Beside what is right, or instead of it. */
  readonly add?: string;
  readonly pass?: string;
  readonly http?: string;
  readonly location?: string;
  readonly gzip?: string;
  readonly base?: string;
  readonly broken: readonly string[];
  readonly words: string;
}

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
    words: '/b has to be written twice, /b/b',
  },
  {
    what: 'the prefix cut off by rewrite',
    add: 'rewrite ^/b(/.*)$ $1 break;',
    broken: ['address', 'encoded names'],
    words: 'the prefix is lost on the way',
  },
  {
    what: 'a prefix put before',
    pass: 'http://UPSTREAM/x$request_uri',
    broken: ['address'],
    words: 'has nothing at this address',
  },
  {
    what: 'nothing behind it',
    pass: 'http://127.0.0.1:1',
    broken: ['address'],
    words: 'it does not reach Vitrine',
  },
  {
    what: 'a redirect',
    add: 'return 301 https://elsewhere.example$request_uri;',
    broken: ['address'],
    words: 'leads to "https://elsewhere.example/b/',
  },
  {
    what: 'a page of its own',
    add: 'return 200 "<html>";',
    broken: ['address'],
    words: 'which is not Vitrine',
  },
  {
    what: 'names decoded by a path after the name',
    pass: 'http://UPSTREAM/b/',
    location: '/b/',
    broken: ['encoded names'],
    words: '%2F (a slash)',
  },
  {
    what: 'names decoded by $uri',
    pass: 'http://UPSTREAM$uri',
    broken: ['encoded names'],
    words: 'does not arrive',
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
    add: 'proxy_cache wrong; proxy_cache_key $uri;',
    broken: ['query'],
    words: 'does not depend on',
  },
  {
    what: 'HEAD refused',
    add: 'if ($request_method = HEAD) { return 405; }',
    broken: ['HEAD'],
    words: 'is answered 405 where GET is answered 200',
  },
  {
    what: 'another type',
    add: 'proxy_hide_header Content-Type; add_header Content-Type text/plain;',
    broken: ['content type', 'compression'],
    words: 'text/plain',
  },
  {
    what: 'error pages of its own',
    add: 'proxy_intercept_errors on; error_page 400 404 /sorry.html;',
    broken: ['error pages', 'CORS'],
    words: "somebody else's page",
  },
  {
    what: 'CORS twice',
    add: 'add_header Access-Control-Allow-Origin * always;',
    broken: ['CORS'],
    words: 'comes twice on 200, "*, *"',
  },
  {
    what: 'CORS only on success',
    add: 'proxy_hide_header Access-Control-Allow-Origin; add_header Access-Control-Allow-Origin *;',
    broken: ['CORS'],
    words: 'is missing on 404',
  },
  {
    what: 'CORS stripped',
    add: 'proxy_hide_header Access-Control-Allow-Origin;',
    broken: ['CORS'],
    words: 'is missing on 200',
  },
  {
    what: 'no preflight',
    add: 'if ($request_method = OPTIONS) { return 405; }',
    broken: ['CORS'],
    words: 'a preflight (OPTIONS) is answered 405',
  },
  { what: 'ETag hidden', add: 'proxy_hide_header ETag;', broken: ['ETag'], words: 'is stripped' },
  {
    what: 'ETag stripped by a filter',
    add: 'sub_filter_types application/json; sub_filter nowhere x;',
    broken: ['ETag'],
    words: 'is stripped',
  },
  {
    what: 'ETag weakened by a filter',
    add: 'sub_filter_types application/json; sub_filter_last_modified on; sub_filter nowhere x;',
    broken: ['ETag'],
    words: 'is weakened',
  },
  {
    what: 'If-None-Match dropped',
    add: 'proxy_set_header If-None-Match "";',
    broken: ['304'],
    words: 'is answered 200 with the whole body',
  },
  {
    what: 'Cache-Control hidden',
    add: 'proxy_hide_header Cache-Control;',
    broken: ['304', 'Cache-Control', 'errors kept'],
    words: 'nobody knows how long',
  },
  {
    what: 'caching forbidden',
    add: 'expires -1;',
    broken: ['Cache-Control'],
    words: 'forbids keeping answers: "no-cache"',
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
    broken: ['Cache-Control', 'errors kept'],
    words: '404 is kept for 3600 s',
  },
  {
    what: 'errors kept in its cache',
    add: `proxy_cache wrong; ${IGNORE} proxy_cache_valid any 10m; add_header X-Cache-Status $upstream_cache_status always;`,
    broken: ['errors kept'],
    words: '400 comes from a cache',
  },
  {
    what: 'a cache that keeps nothing',
    add: 'proxy_cache none; proxy_no_cache 1; add_header X-Cache-Status $upstream_cache_status always;',
    broken: ['cache in front'],
    words: 'it keeps nothing: "MISS"',
  },
  { what: 'no compression', gzip: 'off', broken: ['compression'], words: 'gzip would make them a fraction' },
  {
    what: 'no Vary',
    add: 'gzip_vary off;',
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
    words: 'closed after every answer',
  },
];

/** One server block, right but for what the case says. */
function serverBlock(
  { add = '', pass = 'http://UPSTREAM', location = '/', gzip = 'on' }: Case,
  port: number,
): string {
  const version = add.includes('proxy_http_version') ? '' : 'proxy_http_version 1.1;';
  const vary = add.includes('gzip_vary') ? '' : 'gzip_vary on;';
  return `server {
    listen 127.0.0.1:${port};
    gzip ${gzip}; gzip_types application/json; gzip_proxied any; ${vary}
    location = /healthz { proxy_pass http://UPSTREAM; ${version} }
    location = /sorry.html { internal; return 404 "<html>sorry"; }
    location ${location} {
      ${version} ${add}
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_pass ${pass};
    }
  }`.replaceAll('UPSTREAM', `127.0.0.1:${server.port}`);
}

/** The checks that a report calls broken. */
const brokenIn = (report: string) =>
  [...report.matchAll(/^broken {8} {2}(.+?) {2}/gm)].map(([, name]) => name);

describe.skipIf(withoutNginx)('nginx', () => {
  const ports = new Map<Case, number>();
  beforeAll(async () => {
    for (const one of CASES) ports.set(one, await freePort());
    const blocks = [...ports].map(([one, port]) => serverBlock(one, port));
    await runNginx(
      `proxy_cache_path CACHE/wrong keys_zone=wrong:1m; proxy_cache_path CACHE/none keys_zone=none:1m;\n${blocks.join('\n')}`,
      [...ports.values()],
    );
  });

  test.each(CASES)('with $what', async (one) => {
    const { base = '/b', words } = one;
    const { report, broken } = await examine({
      base: new URL(`http://127.0.0.1:${ports.get(one)}${base}`),
      timeout: 10_000,
    });
    expect([brokenIn(report), broken]).toEqual([one.broken, one.broken.length]);
    expect(report).toContain(words);
    for (const { name, mend } of CHECKS)
      expect(report.includes(`To mend ${name}\n  nginx:\n    ${mend.nginx.split('\n')[0]}`)).toBe(
        one.broken.includes(name),
      );
  });

  test.each(['a', 'b', 'c'])('as README.md says: all is well, variant %s', async (variant) => {
    const front = await startNginx(server.port);
    const url = `http://127.0.0.1:${front.port}/${variant}`;
    const { code, stdout, stderr } = await run(['doctor', url, '--variant', variant, '--user', 'ada']);
    expect([stderr, brokenIn(stdout)]).toEqual(['', []]);
    expect(stdout).not.toMatch(/could not tell|mend/);
    expect(stdout.trimEnd().split('\n')).toHaveLength(CHECKS.length);
    expect(code).toBe(0);
  });

  test('from the command line: what is broken, its mend, and the exit code', async () => {
    const one = CASES.find(({ what }) => what === 'CORS twice') as Case;
    const { code, stdout, stderr } = await run(['doctor', `http://127.0.0.1:${ports.get(one)}/b/`]);
    expect([code, stderr]).toEqual([1, 'vitrine: one thing is broken\n']);
    expect(brokenIn(stdout)).toEqual(['CORS']);
    expect(stdout).toContain('\nTo mend CORS\n  nginx:\n    # take out every: add_header Access-Control-');
    expect(stdout).toMatch(/\n {2}Caddy:\n {4}\S/);
  });
});

test('without a user it tells what can be told', async () => {
  const { report, broken } = await examine({
    base: new URL(`${server.url}/b`),
    user: 'no-such-user',
    timeout: 10_000,
  });
  expect(broken).toBe(0);
  expect(report).toContain('could not tell  ETag             takes a user who is there: give --user NAME');
  expect(report).toContain('ok              error pages');
});

test.each([
  [['doctor'], "missing required argument 'base-url'"],
  [['doctor', 'example.org'], 'must be an http or https URL'],
  [['doctor', 'http://x/', '--variant', 'd'], 'Allowed choices are a, b, c'],
])('used wrongly: %j', async (args, words) => {
  const { code, stdout, stderr } = await run(args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(words);
});

describe('what is not Vitrine', () => {
  const others = new Set<ReturnType<typeof createServer>>();
  afterAll(() => {
    for (const other of others) other.closeAllConnections();
  });

  test('nothing there', async () => {
    const { code, stdout } = await run(['doctor', `http://127.0.0.1:${await freePort()}/b`]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^broken +address +nothing listens there\n/);
  });

  test('somebody else, who tries to write on the terminal', async () => {
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
    expect(stdout).toContain('which is not Vitrine');
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
});
