// Behind Varnish, with exactly the configuration that `vitrine print varnish` prints.
import { beforeAll, describe, expect, test } from 'vitest';
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

const ADA = '/b/api/username/ada';
const SHOTS = `${ADA}/shots`;

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
    await until('Varnish to pass requests on', async () => (await ask(front, ADA)).status === 200);
  });

  test('as printed, nothing is broken', async () => {
    const { code, stdout } = await run(['doctor', `http://127.0.0.1:${front.port}/b`, '--user', 'ada']);
    expect(stdout).not.toMatch(/^broken/m);
    expect(code).toBe(0);
  });

  test('MISS, HIT, STALE and 304, always with the same body', async () => {
    const straight = await ask(server, SHOTS);
    const seen = new Set<unknown>();
    await until('every state', async () => {
      const { status, body, headers } = await ask(front, SHOTS);
      // The cache holds the compressed form, whose ETag is weak.
      const etag = String(headers.etag).replace(/^W\//, '');
      expect([status, body, etag]).toEqual([200, straight.body, straight.headers.etag]);
      expect(headers['access-control-allow-origin']).toBe('*');
      seen.add(headers['x-cache-status']);
      return ['MISS', 'HIT', 'STALE'].every((state) => seen.has(state));
    });
    const headers = { 'if-none-match': String(straight.headers.etag) };
    const again = await ask(front, SHOTS, { headers });
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
    const reply = await ask(front, `${ADA}?never=asked`);
    expect([reply.status, json(reply)]).toEqual([503, UNAVAILABLE.body(503, 'Service Unavailable')]);
    expect(reply.headers).toMatchObject(UNAVAILABLE.headers);
    server = await startServer(env);
    await until('it to be back', async () => (await ask(front, `${ADA}?never=asked`)).status === 200);
  });
});

async function startVarnish(env: Record<string, string>): Promise<Pick<Server, 'port'>> {
  const port = await freePort();
  const file = tempFile('default.vcl', printed('varnish', env));
  const folder = tempFolder();
  const args = ['-F', '-j', 'none', '-n', folder, '-a', `127.0.0.1:${port}`, '-f', file, '-s', 'malloc,64m'];
  await startProxy('varnish', args, [port]);
  return { port };
}
