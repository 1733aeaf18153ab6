// Behind nginx with a cache, with exactly the configuration that `vitrine print nginx` prints.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Extension, MEDIA_TYPES } from '../../src/records/media-types.ts';
import { ADA, SETTINGS, SHOTS } from '../cache-addresses.ts';
import { freePort } from '../free-port.ts';
import { putCopy, SVG_WITH_SCRIPT } from '../media-folder.ts';
import { startNginx, startNginxWith, withoutNginx } from '../nginx.ts';
import { type AskOptions, ask, databaseOf, fixture, type Reply, type Server, startServer } from '../rig.ts';
import { startLoad, until } from '../stress.ts';

type Front = Pick<Server, 'port'>;

let database: string;
beforeAll(async () => {
  if (!withoutNginx) database = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
});

const stateOf = async (front: Front, url: string) => (await ask(front, url)).headers['x-cache-status'];

describe.skipIf(withoutNginx)('caching', () => {
  let env: Record<string, string>;
  let server: Server;
  let front: Front;
  beforeAll(async () => {
    env = {
      DATABASE_URL: database,
      CACHE_CONTROL: 'public, max-age=1',
      PORT: String(await freePort()),
    };
    server = await startServer(env);
    front = await startNginx(server.port);
  });

  /** Requests until each of these cache states was seen; every response is the same. */
  async function seeStates(url: string, ...wanted: string[]) {
    const { body, headers } = await ask(server, url).catch(() => ask(front, url));
    const seen = new Set<unknown>();
    await until(`${wanted} for ${url}, not only ${[...seen]}`, async () => {
      const reply = await ask(front, url);
      const etag = reply.headers.etag?.replace(/^W\/(.*)-gzip"$/, '$1"');
      expect([reply.status, reply.body, etag]).toEqual([
        200,
        body,
        headers.etag?.replace(/^W\/(.*)-gzip"$/, '$1"'),
      ]);
      expect(reply.headers['access-control-allow-origin']).toBe('*');
      seen.add(reply.headers['x-cache-status']);
      return wanted.every((state) => seen.has(state));
    });
  }

  test.each([ADA, SHOTS])(
    '%s: MISS, HIT, REVALIDATED; STALE while the server is down, and fresh again after',
    async (url) => {
      await seeStates(url, 'MISS', 'HIT', 'REVALIDATED');
      await server.stop();
      await seeStates(url, 'STALE');
      expect((await ask(front, '/a/api/?user=nobody-asked-before')).status).toBe(503);
      server = await startServer(env);
      await seeStates(url, 'REVALIDATED', 'HIT');
    },
  );

  test('with stale-while-revalidate no request waits for the revalidation', async () => {
    const second = await startServer({
      DATABASE_URL: database,
      CACHE_CONTROL: 'public, max-age=1, stale-while-revalidate=60',
    });
    const other = await startNginx(second.port);
    const states: unknown[] = [];
    await until('a stale answer and a fresh one after it', async () => {
      states.push(await stateOf(other, ADA));
      return states.includes('STALE') && states.at(-1) === 'HIT';
    });
    expect(states).not.toContain('REVALIDATED');
  });
});

// With proxy_cache_lock the second request would wait five seconds, the default of its time-out.
test.skipIf(withoutNginx)('two requests for a page reach the server at the same time', async () => {
  const waiting: ServerResponse[] = [];
  const site = createServer((_request, response) => {
    waiting.push(response.setHeader('cache-control', 'no-cache'));
    if (waiting.length === 2) for (const each of waiting) each.end('page');
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  const front = await startNginx((site.address() as AddressInfo).port);
  const replies = Promise.all([ask(front, '/'), ask(front, '/')]);
  await until('both of them', () => waiting.length === 2, 4);
  expect((await replies).map(({ body }) => body)).toEqual(['page', 'page']);
  site.close().closeAllConnections();
});

describe.skipIf(withoutNginx)('compression', () => {
  let server: Server;
  let front: Front;
  beforeAll(async () => {
    server = await startServer({
      DATABASE_URL: database,
      ...SETTINGS,
    });
    front = await startNginx(server.port);
  });

  test('the ETag of the compressed copy is weak where nginx unpacks it, and both forms match', async () => {
    const url = `http://127.0.0.1:${front.port}${SHOTS}`;
    const plain = await fetch(url, { headers: { 'accept-encoding': 'identity' } });
    const small = await fetch(url, { headers: { 'accept-encoding': 'gzip' } });
    expect(small.headers.get('content-encoding')).toBe('gzip');
    expect(await small.text()).toBe(await plain.text());
    expect(plain.headers.get('etag')).toBe(`W/${small.headers.get('etag')}`);
    expect(small.headers.get('vary')).toContain('Accept-Encoding');
    for (const etag of [small, plain].map(({ headers }) => headers.get('etag') as string)) {
      for (const port of [front.port, server.port]) {
        const again = await fetch(`http://127.0.0.1:${port}${SHOTS}`, { headers: { 'if-none-match': etag } });
        expect([port, again.status, await again.text()]).toEqual([port, 304, '']);
      }
    }
  });
});

describe.skipIf(withoutNginx)('copies of pictures', () => {
  const settings = (env: Record<string, string>) => ({ DATABASE_URL: database, ...env });
  const folder = () => `${database}.media`;
  /** What nginx and Vitrine may differ in. */
  const OWN = [
    'date',
    'server',
    'etag',
    'last-modified',
    'connection',
    'keep-alive',
    'x-cache-status',
    'vary',
    'accept-ranges',
    'access-control-expose-headers',
  ];
  const comparable = ({ status, headers, body }: Reply) => ({
    status,
    body,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN.includes(name))),
  });

  test.each([
    ['any origin', { CORS_ORIGIN: '*' }],
    ['some origins', { CORS_ORIGIN: 'https://one.example' }],
    ['no origin', { CORS_ORIGIN: 'none' }],
  ])('are answered as Vitrine does for %s, without asking it', async (_, env) => {
    const server = await startServer(settings(env));
    const front = await startNginxWith(settings(env), server.port);
    const names = (Object.keys(MEDIA_TYPES) as Extension[]).map((extension) =>
      putCopy(folder(), SVG_WITH_SCRIPT, extension),
    );
    const requests = names.flatMap((name) =>
      [{}, { method: 'HEAD' }, { headers: { range: 'bytes=2-5' } }].map(
        (options) => [`/media/${name}`, options] as const,
      ),
    );
    const origin = { origin: 'https://one.example' };
    const askBoth = (to: Front) =>
      Promise.all(
        requests.map(async ([path, { headers = {}, ...options }]: readonly [string, AskOptions]) =>
          comparable(await ask(to, path, { ...options, headers: { ...origin, ...headers } })),
        ),
      );
    const expected = await askBoth(server);
    await server.stop();
    expect(await askBoth(front)).toEqual(expected);
    const { headers } = await ask(front, `/media/${names[0]}`);
    const again = await ask(front, `/media/${names[0]}`, {
      headers: { 'if-none-match': String(headers.etag) },
    });
    expect([again.status, again.headers['cache-control']]).toEqual([304, headers['cache-control']]);
    expect(headers.vary === 'Origin').toBe(env.CORS_ORIGIN?.startsWith('https') ?? false);
  });

  test('errors, preflights and what nginx cannot read come from Vitrine', async () => {
    const server = await startServer(settings({}));
    const front = await startNginxWith(settings({}), server.port);
    const there = `/media/${putCopy(folder(), SVG_WITH_SCRIPT, 'svg')}`;
    const preflight = { origin: 'https://one.example', 'access-control-request-method': 'GET' };
    const requests: [string, AskOptions][] = [
      [`/media/${'ab'.repeat(32)}.svg`, {}],
      ['/media/x', {}],
      [there, { method: 'POST' }],
      [there, { method: 'OPTIONS', headers: preflight }],
    ];
    for (const [path, options] of requests)
      expect(comparable(await ask(front, path, options))).toEqual(
        comparable(await ask(server, path, options)),
      );
    const beyond = await ask(front, there, { headers: { range: 'bytes=9999-' } });
    expect([beyond.status, beyond.headers['access-control-allow-origin']]).toEqual([416, '*']);
    const blind = await startNginx(server.port);
    expect((await ask(blind, there)).body).toBe(SVG_WITH_SCRIPT);
  });
});

describe.skipIf(withoutNginx)('rolling restarts', () => {
  test('of two servers under keep-alive load fail no request', async () => {
    const env = { DATABASE_URL: database, CACHE_CONTROL: 'no-store' };
    const start = (port: number) => startServer({ ...env, PORT: String(port) });
    const servers = [await start(await freePort()), await start(await freePort())];
    const front = await startNginx(...servers.map(({ port }) => port));
    const good = (status: number, body: string) => status === 200 && body.includes('ada');
    const judge = (_: string, { status, body }: { status: number; body: string }) =>
      good(status, body) ? undefined : `${status} ${body.slice(0, 80)}`;
    const load = startLoad(front, [ADA, '/b/api/username/ada'], judge, 16);
    for (let round = 0; round < 6; round++) {
      const which = round % 2;
      const { port, stop } = servers[which] as Server;
      await load.more(100);
      expect(await stop()).toBe(0);
      await load.more(100);
      servers[which] = await start(port);
    }
    await load.more(100);
    expect(await load.stop()).toEqual([]);
  });
});
