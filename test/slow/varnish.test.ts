// Behind Varnish, with exactly the configuration that `vitrine print varnish` prints.
import { beforeAll, describe, expect, test } from 'vitest';
import { ADA, APART, SAME, SETTINGS, SHOTS, WARM } from '../cache-addresses.ts';
import { freePort } from '../free-port.ts';
import { printed, UNAVAILABLE } from '../printed.ts';
import { skipWithout } from '../programs.ts';
import { startProxy } from '../proxies.ts';
import {
  ask,
  databaseOf,
  fixture,
  json,
  run,
  type Server,
  startServer,
  tempFile,
  tempFolder,
} from '../rig.ts';
import { until } from '../stress.ts';

const NEVER_ASKED = '/b/api/username/elodie';
const PROFILE = '/b/api/username/ada';

describe.skipIf(skipWithout('varnish'))('Varnish', () => {
  let server: Server;
  let front: Pick<Server, 'port'>;
  let env: Record<string, string>;

  beforeAll(async () => {
    env = {
      DATABASE_URL: await databaseOf(fixture('portfolio.ndjson')),
      PORT: String(await freePort()),
      CACHE_CONTROL: 'public, max-age=1, stale-while-revalidate=2, stale-if-error=86400',
      TRUST_PROXY: 'loopback',
    };
    server = await startServer(env);
    front = await startVarnish(env);
    await until('Varnish to pass requests on', async () => (await ask(front, PROFILE)).status === 200);
  });

  test('as printed, nothing is broken', async () => {
    const { code, stdout } = await run(['doctor', `http://127.0.0.1:${front.port}/b`, '--user', 'ada']);
    expect(stdout).not.toMatch(/^broken/m);
    expect(code).toBe(0);
  });

  test('MISS, HIT, STALE and 304, always with the same body', async () => {
    // Nobody has asked for it yet: a response that doctor asked for may be cached still.
    const url = '/b/api/username/elodie/shots';
    const straight = await ask(server, url);
    const seen = new Set<unknown>();
    await until('every state', async () => {
      const { status, body, headers } = await ask(front, url);
      expect([status, body, strong(headers.etag)]).toEqual([200, straight.body, straight.headers.etag]);
      expect(headers['access-control-allow-origin']).toBe('*');
      seen.add(headers['x-cache-status']);
      return ['MISS', 'HIT', 'STALE'].every((state) => seen.has(state));
    });
    const headers = { 'if-none-match': String(straight.headers.etag) };
    const again = await ask(front, url, { headers });
    expect([again.status, again.body, again.headers['access-control-allow-origin']]).toEqual([304, '', '*']);
  });

  test('while the server is down, what is cached is served on, and the rest is a JSON error with CORS', async () => {
    expect((await ask(front, SHOTS)).status).toBe(200);
    await server.stop();
    const ends = Date.now() + 5000;
    await until('5 s of it', async () => {
      expect((await ask(front, SHOTS)).status).toBe(200);
      return Date.now() > ends;
    });
    const reply = await ask(front, NEVER_ASKED);
    expect([reply.status, json(reply)]).toEqual([503, UNAVAILABLE.body(503, 'Service Unavailable')]);
    expect(reply.headers).toMatchObject(UNAVAILABLE.headers);
    server = await startServer(env);
    await until('it to be back', async () => (await ask(front, NEVER_ASKED)).status === 200);
  });
});

describe.skipIf(skipWithout('varnish'))('the cache of Varnish', () => {
  let server: Server;
  let front: Pick<Server, 'port'>;

  beforeAll(async () => {
    const DATABASE_URL = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
    const env = { DATABASE_URL, PORT: String(await freePort()), ...SETTINGS };
    server = await startServer(env);
    front = await startVarnish(env);
    await until('Varnish to pass requests on', async () => (await ask(front, ADA)).status === 200);
  });

  const stateOf = async (url: string) => (await ask(front, url)).headers['x-cache-status'];

  test.each(SAME)('serves what is cached for %s for %s, too', async (warm, url) => {
    await until('it to be cached', async () => (await stateOf(warm)) === 'HIT');
    expect(await stateOf(url)).toBe('HIT');
  });

  test.each(APART)('%s gets the same response as without it, twice', async (url) => {
    await Promise.all(WARM.map((warm) => ask(front, warm)));
    const straight = await ask(server, url);
    for (let turn = 0; turn < 2; turn++) {
      const { status, body, headers } = await ask(front, url);
      expect([status, body, strong(headers.etag)]).toEqual([
        straight.status,
        straight.body,
        straight.headers.etag,
      ]);
    }
  });
});

/** The cache may hold the compressed form, whose ETag is weak. */
const strong = (etag: string | undefined) => etag?.replace(/^W\//, '');

async function startVarnish(env: Record<string, string>): Promise<Pick<Server, 'port'>> {
  const port = await freePort();
  const file = tempFile('default.vcl', printed('varnish', env));
  const folder = tempFolder();
  const args = ['-F', '-j', 'none', '-n', folder, '-a', `127.0.0.1:${port}`, '-f', file, '-s', 'malloc,64m'];
  await startProxy('varnish', args, [port]);
  return { port };
}
