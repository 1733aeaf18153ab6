// Behind proxies, with exactly the configurations that `vitrine print` prints. What only nginx does is in nginx.slow.test.ts.
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect } from 'node:http2';
import { beforeAll, describe, expect, test } from 'vitest';
import { AUTHORITY } from '../../support/certificates.ts';
import { databaseOf } from '../../support/database.ts';
import { fixture, tempFile } from '../../support/files.ts';
import { freePort } from '../../support/free-port.ts';
import {
  type Front,
  PROXY_NAMES,
  type ProxyName,
  startFront,
  startPatientCaddy,
  withoutProxy,
} from '../../support/fronts.ts';
import { ask, json, type Reply } from '../../support/http.ts';
import { printed, UNAVAILABLE } from '../../support/printed.ts';
import { startProxy } from '../../support/proxies.ts';
import { run } from '../../support/run.ts';
import { type Server, startServer } from '../../support/server.ts';
import { linesOf, startLoad, until } from '../../support/stress.ts';
import { ADA, APART, PASSED_ON, SAME, SETTINGS, SHOTS, WARM } from './cache-addresses.ts';
import { startUpstream } from './upstream.ts';

const PROFILE = '/b/api/username/ada';
const NEVER_ASKED = '/b/api/username/elodie';
const CACHING = 'public, max-age=1, stale-while-revalidate=2, stale-if-error=86400';

const succeeds = (front: Front, url: string) =>
  until(`a response for ${url}`, async () => (await ask(front, url)).status === 200);

const stateOf = async (front: Front, url: string) => (await ask(front, url)).headers['x-cache-status'];

/** A proxy that keeps the compressed copy sends its ETag, made weak, to clients for which it unpacks. */
const strong = (etag: string | undefined) => etag?.replace(/^W\//, '').replace(/-gzip"$/, '"');

async function settings(): Promise<Record<string, string>> {
  return {
    DATABASE_URL: await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson')),
    PORT: String(await freePort()),
    ADMIN_PORT: String(await freePort()),
    TRUST_PROXY: 'loopback',
  };
}

// The doctor waits for caches: all at a time.
test.concurrent.each(PROXY_NAMES.filter((name) => !withoutProxy(name)))('%s breaks nothing', async (name) => {
  const env = { ...(await settings()), CACHE_CONTROL: CACHING };
  await startServer(env);
  const front = await startFront(name, env);
  await succeeds(front, PROFILE);
  const { code, stdout } = await run(['doctor', `http://127.0.0.1:${front.port}/b`, '--user', 'ada']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.not.stringMatching(/^broken/m) });
});

describe.each(PROXY_NAMES)('%s', (name) => {
  describe.skipIf(withoutProxy(name))('as printed', () => {
    let env: Record<string, string>;
    let server: Server;
    let front: Front;
    beforeAll(async () => {
      env = { ...(await settings()), ACCESS_LOG: 'on', CACHE_CONTROL: CACHING };
      server = await startServer(env);
      front = await startFront(name, env);
      await succeeds(front, PROFILE);
    });

    test('sets protocol and request id, whatever the client sends', async () => {
      const url = `/b/api/username/told-by-${name}`;
      const forged = { 'x-forwarded-for': '6.6.6.6', 'x-forwarded-proto': 'https', 'x-request-id': 'forged' };
      await ask(front, url, { from: '127.0.0.9', headers: forged });
      const line = await until('its log line', () => linesOf(server).find((each) => each.url === url));
      expect(line).toMatchObject({ protocol: 'http', id: expect.not.stringContaining('forged') });
      // 127.0.0.9 is a trusted proxy as well, so the address before it counts. Caddy trusts no proxy.
      expect(line.client).toBe(name === 'caddy' ? '127.0.0.9' : '6.6.6.6');
    });

    test('with every server down, the error is JSON that pages of any origin can read', async () => {
      const alone = await startFront(name, { PORT: String(await freePort()) });
      const reply = await ask(alone, PROFILE);
      expect([reply.status, json(reply)]).toEqual([503, UNAVAILABLE.body(503, 'Service Unavailable')]);
      expect(reply.headers).toMatchObject(UNAVAILABLE.headers);
    });
  });
});

describe.skipIf(withoutProxy('nginx'))('the cache of nginx', () => {
  test('keeps one copy, whatever other parameters there are and however names are spelled', async () => {
    const { upstream, front } = await startInFront('nginx');
    expect(await stateOf(front, SHOTS)).toBe('MISS');
    for (const url of SAME.flat()) expect((await ask(front, url)).status).toBe(200);
    expect(await stateOf(front, SHOTS)).toBe('HIT');
    expect(upstream.requests.map(({ url }) => url)).toEqual([
      ...new Set([SHOTS, ...SAME.map(([warm]) => warm)]),
    ]);
  });

  test.each(PASSED_ON)('does not store a response for %s', async (url) => {
    const { upstream, front } = await startInFront('nginx');
    for (let turn = 0; turn < 2; turn++) expect(await stateOf(front, url)).toBe('MISS');
    expect(upstream.requests.map((request) => request.url)).toEqual([url, url]);
  });

  test('sends each address the response of the server', async () => {
    const env = { ...(await settings()), ...SETTINGS };
    const server = await startServer(env);
    const front = await startFront('nginx', env);
    await succeeds(front, ADA);
    const wrong: unknown[] = [];
    for (const url of APART) {
      await Promise.all(WARM.map((warm) => ask(front, warm)));
      const straight = await ask(server, url);
      for (let turn = 0; turn < 2; turn++) {
        const { status, body, headers } = await ask(front, url);
        if (
          status !== straight.status ||
          body !== straight.body ||
          strong(headers.etag) !== straight.headers.etag
        )
          wrong.push([url, turn, status, straight.status, body]);
      }
    }
    expect(wrong).toEqual([]);
    // A page for people, JSON for programs, in whatever order they ask.
    for (const accept of ['text/html', 'application/json', 'text/html']) {
      const { headers } = await ask(front, '/people/b/nobody', { headers: { accept } });
      expect(headers['content-type']).toBe(`${accept}; charset=utf-8`);
    }
  });

  test('refuses unknown hosts, and keeps one copy for all spellings of a host', async () => {
    const { upstream, front } = await startInFront('nginx', { BASE_URL_B: 'http://localhost/b' });
    for (const host of ['elsewhere.example', 'localhost.elsewhere.example'])
      await expect(ask(front, SHOTS, { headers: { host } })).rejects.toThrow('socket hang up');
    for (const host of ['localhost', 'LOCALHOST', `localhost:${front.port}`])
      expect((await ask(front, SHOTS, { headers: { host } })).status).toBe(200);
    expect(upstream.requests.map(({ headers }) => headers.host)).toEqual(['localhost']);
  });

  // Otherwise a client could have the 404 for its host stored for all.
  test.each([
    ['with a base URL', { BASE_URL_B: 'http://localhost/b' }, 'localhost'],
    [
      'with base URLs of several ports',
      { BASE_URL_A: 'http://localhost/a', BASE_URL_B: 'http://localhost:8001/b' },
    ],
    ['without base URLs', {}],
  ])('stores no answer for a host that Vitrine was not asked for, %s', async (_, env, canonical?: string) => {
    const { upstream, front } = await startInFront('nginx', env);
    const own = `localhost:${front.port}`;
    for (const [host, origin] of [
      ['localhost:1', ''],
      ['localhost.', ''],
      ['elsewhere.example', 'http://localhost'],
      [own, ''],
    ] as const)
      expect((await ask(front, `${origin}${SHOTS}`, { headers: { host } })).status).toBe(200);
    const hosts = upstream.requests.map(({ headers }) => headers.host);
    // Each host that is sent has a copy of its own.
    expect(new Set(hosts).size).toBe(hosts.length);
    expect(hosts.at(-1)).toBe(canonical ?? own);
  });

  test('stores no spelling of a name with escapes that it does not need', async () => {
    const { upstream, front } = await startInFront('nginx');
    const odd = [
      '/b/api/username/%61da',
      '/a/api/?user=ad%61',
      '/b/api/username/ad%61/shots?x=1',
      '/people/b/%41da',
    ];
    const usual = ['/b/api/username/zo%C3%AB', '/b/api/username/a%20b%2Fc', '/a/api/?user=a%26b'];
    for (const url of [...odd, ...odd, ...usual, ...usual]) expect((await ask(front, url)).status).toBe(200);
    expect(upstream.requests).toHaveLength(2 * odd.length + usual.length);
  });

  test('keeps one copy for each allowed origin, and one for all others', async () => {
    const { upstream, front } = await startInFront('nginx', {
      CORS_ORIGIN: 'https://one.example,https://two.example',
    });
    const origins = ['one', 'two', 'three', 'four', 'five', 'one'];
    for (const origin of origins)
      await ask(front, SHOTS, { headers: { origin: `https://${origin}.example` } });
    await ask(front, SHOTS);
    expect(upstream.requests.map(({ headers }) => headers.origin)).toEqual([
      'https://one.example',
      'https://two.example',
      undefined,
    ]);
  });
});

/** Spellings of Accept-Encoding that browsers and attackers send. */
const ACCEPTING = [
  'gzip',
  'gzip, deflate, br, zstd',
  'x-1, br;q=0.9, gzip;q=0.8, *;q=0.1',
  'deflate, gzip',
  'gzip;q=0.001',
];
const REFUSING = ['identity', 'deflate', 'br, x-2', 'gzip;q=0', 'br, gzip;q=0.000', 'gzip;q=0, deflate'];
const FILES = ['/', '/embed.js', '/page.css', '/card/b/ada.svg', '/feeds/b/ada.atom', '/feeds/b/ada.json'];

test.each(PROXY_NAMES.filter((name) => !withoutProxy(name)))(
  '%s passes answers on as the server compressed them, and compresses pages, scripts, styles, images and feeds',
  async (name) => {
    const { upstream, front } = await startInFront(name);
    for (const accepted of [...ACCEPTING, ...REFUSING]) {
      const reply = await fetchFrom(front, SHOTS, { 'accept-encoding': accepted });
      const packed = ACCEPTING.includes(accepted);
      expect({ accepted, status: reply.status, coding: reply.coding }).toEqual({
        accepted,
        status: 200,
        coding: packed ? 'gzip' : null,
      });
      expect(reply.body).toBe(upstream.body);
      expect(reply.vary).toMatch(/^accept-encoding$/i);
      if (packed) expect(reply.etag).toBe('"list-gzip"');
      const again = { 'accept-encoding': accepted, 'if-none-match': String(reply.etag) };
      // Not with fetch, which adds `Cache-Control: no-cache`.
      expect((await ask(front, SHOTS, { headers: again })).status).toBe(304);
    }
    if (name === 'nginx') expect(upstream.requests).toHaveLength(1);
    for (const url of FILES)
      for (const accepted of ['gzip', 'identity']) {
        const { coding, body, vary } = await fetchFrom(front, url, { 'accept-encoding': accepted });
        const isPacked = accepted === 'gzip';
        expect({ url, coding, body }).toEqual({ url, coding: isPacked ? 'gzip' : null, body: upstream.body });
        if (isPacked) expect(vary).toMatch(/accept-encoding/i);
      }
  },
);

test.skipIf(withoutProxy('nginx'))('nginx speaks TLS where the base URL does', async () => {
  const { front } = await startInFront('nginx', { BASE_URL_B: 'https://localhost/b' });
  const plain = await ask(front, `${SHOTS}?x=1`, { headers: { host: 'localhost' } });
  expect({ status: plain.status, location: plain.headers.location }).toEqual({
    status: 301,
    location: `https://localhost${SHOTS}?x=1`,
  });
  const session = connect(`https://localhost:${front.tlsPort}`, { ca: AUTHORITY });
  const [headers] = await once(session.request({ ':path': SHOTS }), 'response');
  expect([session.alpnProtocol, headers[':status']]).toEqual(['h2', 200]);
  session.destroy();
});

test.skipIf(withoutProxy('nginx'))('nginx limits the connections of one client', async () => {
  const { upstream, front } = await startInFront('nginx');
  upstream.hold();
  const agent = new Agent();
  const requests = Array.from({ length: 230 }, (_, nr) =>
    get({ agent, port: front.port, path: `/b/api/username/u${nr}` }),
  );
  const turnedAway = requests.map((request) =>
    once(request, 'response').then(
      ([{ statusCode }]) => statusCode === 503,
      () => true,
    ),
  );
  let away = 0;
  for (const each of turnedAway) each.then((is) => (away += is ? 1 : 0));
  await until('those beyond the limit to be turned away', () => away >= 30);
  await until('the others to arrive', () => upstream.requests.length + away === requests.length);
  for (const request of requests) request.destroy();
});

async function fetchFrom({ port }: Front, path: string, headers: Record<string, string>) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  const header = (name: string) => response.headers.get(name);
  return {
    status: response.status,
    coding: header('content-encoding'),
    etag: header('etag'),
    vary: header('vary') ?? '',
    body: await response.text(),
  };
}

/** A proxy before the small server, which has answered health checks only. */
async function startInFront(name: ProxyName, env = {}) {
  const upstream = await startUpstream();
  const front = await startFront(name, { PORT: String(upstream.port), ...env });
  await until('it to pass requests on', async () =>
    [200, 301].includes((await ask(front, '/readyz', { headers: { host: 'localhost' } })).status),
  );
  return { upstream, front };
}

describe('stopping and starting', () => {
  test.skipIf(withoutProxy('nginx')).each([
    ['public, max-age=1', 'REVALIDATED'],
    ['public, max-age=1, stale-while-revalidate=60', 'STALE'],
  ] as const)(
    'nginx, %s: an expired copy is %s, is served while the server is down',
    async (caching, expired) => {
      const env = { ...(await settings()), CACHE_CONTROL: caching };
      let server = await startServer(env);
      const front = await startFront('nginx', env);
      await succeeds(front, PROFILE);
      const straight = await Promise.all([ADA, SHOTS].map((url) => ask(server, url)));
      const seen = new Set<unknown>();
      /** Requests until each of these cache states was seen; every response is the same. */
      const states = async (...wanted: string[]) => {
        for (const [index, url] of [ADA, SHOTS].entries()) {
          seen.clear();
          await until(`${wanted} for ${url}`, async () => {
            const { status, body, headers } = await ask(front, url);
            const { body: whole, headers: expected } = straight[index] as Reply;
            expect([status, body, strong(headers.etag)]).toEqual([200, whole, expected.etag]);
            expect(headers['access-control-allow-origin']).toBe('*');
            seen.add(headers['x-cache-status']);
            return wanted.every((state) => seen.has(state));
          });
          // No request waits for the revalidation where it may be answered meanwhile.
          if (expired === 'STALE') expect(seen).not.toContain('REVALIDATED');
        }
      };
      await states('MISS', 'HIT', expired);
      await server.stop();
      await until('it to notice', async () => (await ask(front, NEVER_ASKED)).status === 503);
      await states('STALE');
      server = await startServer(env);
      await succeeds(front, NEVER_ASKED);
      await states('HIT');
    },
  );

  test.skipIf(withoutProxy('caddy'))('Caddy listens on the port of a base URL', async () => {
    const port = await freePort();
    const env = { ...(await settings()), BASE_URL_B: `http://127.0.0.1:${port}/b` };
    await startServer(env);
    const file = tempFile('Caddyfile', `{\n\tadmin off\n}\n${printed('caddy', env)}`);
    await startProxy('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], [port]);
    await succeeds({ port }, PROFILE);
  });

  test.skipIf(withoutProxy('caddy'))('Caddy: a restart of its only server fails no request', async () => {
    const env = await settings();
    let server = await startServer(env);
    const front = await startPatientCaddy(env);
    await succeeds(front, PROFILE);
    const load = startLoad(
      front,
      [PROFILE],
      (_, { status }) => (status === 200 ? undefined : String(status)),
      4,
    );
    await load.more(20);
    await server.stop();
    server = await startServer(env);
    await load.more(20);
    expect(await load.stop()).toEqual([]);
  });

  test.skipIf(withoutProxy('nginx'))(
    'nginx: rolling restarts of two servers under load fail no request',
    async () => {
      // Not cached, so that each request reaches a server.
      const always = { ACCESS_LOG: 'on', CACHE_CONTROL: 'no-store' };
      const envs = [
        { ...(await settings()), ...always },
        { ...(await settings()), ...always },
      ] as const;
      const servers = await Promise.all(envs.map((env) => startServer(env)));
      const front = await startFront('nginx', ...envs);
      await succeeds(front, PROFILE);
      const judge = (_: string, { status, body }: Reply) =>
        status === 200 && body.includes('ada') ? undefined : `${status} ${body}`;
      const load = startLoad(front, [PROFILE], judge, 8);
      for (const which of [0, 1, 0]) {
        await load.more(100);
        expect(await servers[which]?.stop()).toBe(0);
        const restarted = await startServer(envs[which]);
        servers[which] = restarted;
        // It gets requests once the proxy has seen that it is back.
        await until('it to take part', () => restarted.log.some((line) => line.includes(PROFILE)));
      }
      expect(await load.stop()).toEqual([]);
    },
  );
});
