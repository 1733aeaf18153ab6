// Behind HAProxy, with exactly the configuration that `vitrine print haproxy` prints.
import { beforeAll, describe, expect, test } from 'vitest';
import { ADA, APART, SAME, SETTINGS, WARM } from '../cache-addresses.ts';
import { freePort } from '../free-port.ts';
import { fillIn, printed, UNAVAILABLE } from '../printed.ts';
import { skipWithout } from '../programs.ts';
import { startProxy } from '../proxies.ts';
import { ask, databaseOf, fixture, json, run, type Server, startServer, tempFile } from '../rig.ts';
import { linesOf, startLoad, until } from '../stress.ts';

const PROFILE = '/b/api/username/ada';

describe.skipIf(skipWithout('haproxy'))('HAProxy', () => {
  let server: Server;
  let front: Pick<Server, 'port'>;
  let env: Record<string, string>;

  beforeAll(async () => {
    env = {
      DATABASE_URL: await databaseOf(fixture('portfolio.ndjson')),
      PORT: String(await freePort()),
      ADMIN_PORT: String(await freePort()),
      TRUST_PROXY: 'loopback',
      SHUTDOWN_DELAY: '1s',
      ACCESS_LOG: 'on',
    };
    server = await startServer(env);
    front = await startHaproxy(env);
    await until('HAProxy to pass requests on', async () => (await ask(front, PROFILE)).status === 200);
  });

  test('as printed, nothing is broken', async () => {
    const { code, stdout } = await run(['doctor', `http://127.0.0.1:${front.port}/b`, '--user', 'ada']);
    expect(stdout).not.toMatch(/^broken/m);
    expect(code).toBe(0);
  });

  test('MISS, HIT and 304', async () => {
    const url = '/b/api/username/elodie/shots';
    const straight = await ask(server, url);
    const states = [];
    for (let turn = 0; turn < 2; turn++) {
      const { status, body, headers } = await ask(front, url);
      expect([status, body, headers.etag]).toEqual([200, straight.body, straight.headers.etag]);
      states.push(headers['x-cache-status']);
    }
    expect(states).toEqual(['MISS', 'HIT']);
    const headers = { 'if-none-match': String(straight.headers.etag) };
    for (const asked of [url, `${url}?page=2`]) {
      const again = await ask(front, asked, { headers });
      expect([again.status, again.body, again.headers['access-control-allow-origin']]).toEqual([
        304,
        '',
        '*',
      ]);
    }
  });

  test('HAProxy sets client, protocol and request id, whatever the client sends', async () => {
    const headers = { 'x-forwarded-for': '6.6.6.6', 'x-forwarded-proto': 'https', 'x-request-id': 'forged' };
    await ask(front, '/b/api/username/told-by-haproxy', { from: '127.0.0.9', headers });
    const line = await until('its log line', () =>
      linesOf(server).find(({ url }) => String(url).includes('told-by-haproxy')),
    );
    expect(line).toMatchObject({ protocol: 'http', id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    // 127.0.0.9 is a trusted proxy as well, so the next address counts.
    expect(line.client).toBe('6.6.6.6');
  });

  test('rolling restarts of two servers under load fail no request', async () => {
    const second = { ...env, PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) };
    const servers = [server, await startServer(second)];
    const both = await startHaproxy(env, second);
    await until('HAProxy to pass requests on', async () => (await ask(both, PROFILE)).status === 200);
    // Not cached, so that each request reaches a server.
    const judge = (_: string, { status }: { status: number }) =>
      status === 404 ? undefined : String(status);
    const load = startLoad(both, ['/b/api/username/nobody'], judge, 8);
    const answeredMore = async (many: number) => {
      const before = load.answered();
      await until(`${many} more answers`, () => load.answered() > before + many);
    };
    for (const [which, settings] of [env, second, env].entries()) {
      const index = which % 2;
      await answeredMore(100);
      expect(await servers[index]?.stop()).toBe(0);
      const restarted = await startServer(settings);
      servers[index] = restarted;
      // HAProxy's checks have seen it once it gets requests.
      await until('it to take part', () => restarted.log.some((line) => line.includes('/nobody')));
    }
    expect(await load.stop()).toEqual([]);
    server = servers[0] as Server;
  });

  test('with every server down, the error is JSON that pages of any origin can read', async () => {
    const nobody = { PORT: String(await freePort()) };
    const alone = await startHaproxy(nobody);
    const reply = await ask(alone, PROFILE);
    expect([reply.status, json(reply)]).toEqual([503, UNAVAILABLE.body(503, 'Service Unavailable')]);
    expect(reply.headers).toMatchObject(UNAVAILABLE.headers);
  });
});

describe.skipIf(skipWithout('haproxy'))('the cache of HAProxy', () => {
  let server: Server;
  let front: Pick<Server, 'port'>;

  beforeAll(async () => {
    const DATABASE_URL = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
    const env = { DATABASE_URL, PORT: String(await freePort()), ...SETTINGS };
    server = await startServer(env);
    front = await startHaproxy(env);
    await until('HAProxy to pass requests on', async () => (await ask(front, ADA)).status === 200);
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
      expect([status, body, headers.etag]).toEqual([straight.status, straight.body, straight.headers.etag]);
    }
  });
});

/** In front of servers with these settings. */
async function startHaproxy(...servers: Record<string, string>[]): Promise<Pick<Server, 'port'>> {
  const port = await freePort();
  const recipe = printed('haproxy', servers[0]);
  const line = /^ {4}server one .*$/m.exec(recipe)?.[0] ?? '';
  const lines = servers.map(
    (env, nr) => /^ {4}server one .*$/m.exec(printed('haproxy', env))?.[0].replace('one', `s${nr}`) ?? '',
  );
  const file = tempFile(
    'haproxy.cfg',
    fillIn(recipe, ['bind :80\n', `bind 127.0.0.1:${port}\n`], [line, lines.join('\n')]),
  );
  await startProxy('haproxy', ['-db', '-f', file], [port]);
  return { port };
}
