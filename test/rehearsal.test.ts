// `vitrine serve --rehearse`: slow, failing and empty answers, on purpose.
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES, FAILURES } from '../src/http/errors.ts';
import { fixture } from './files.ts';
import { ask, databaseOf, dial, hearOut, json, type LocalServer, prepareServe, type Reply } from './rig.ts';
import { serveHere } from './serve-here.ts';

const PROFILE = '/b/api/username/ada';
const LIST = `${PROFILE}/shots`;

const rehearse = (...args: string[]) => serveHere({}, ['--rehearse', ...args]);
const wish = (server: LocalServer, text: string, path = PROFILE) =>
  ask(server, path, { headers: { 'x-rehearse': text } });
/** The status, or how the connection ended. */
const outcome = (reply: Promise<Reply>) =>
  reply.then(
    ({ status }) => String(status),
    ({ code, message }) => code ?? message,
  );

const server = await rehearse();

describe('one request', () => {
  test.each(ERROR_CODES)('%s has its own body and headers', async (code) => {
    const { status, headers, body } = await wish(server, `status=${code}`);
    expect([status, body]).toEqual([FAILURES[code].status, FAILURES[code].body.toString()]);
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      ...(status === 405 && { allow: 'GET, HEAD, OPTIONS' }),
      ...(status === 416 && { 'content-range': 'bytes */0' }),
      ...((status === 429 || status === 503) && { 'retry-after': '1' }),
      ...(status === 429 && { ratelimit: '"default";r=0;t=1', 'ratelimit-policy': '"default";q=100;w=60' }),
      ...(status === 500 && { 'x-request-id': expect.any(String) }),
    });
  });

  test('errors are those that are real elsewhere, header by header', async () => {
    const real = [
      ['USER_NOT_FOUND', '/b/api/username/unknown'],
      ['USER_MISSING', '/b/api/username/'],
      ['URI_TOO_LONG', `/${'x'.repeat(9000)}`],
      ['USER_TOO_LONG', `/b/api/username/${'x'.repeat(256)}`],
    ] as const;
    const others = ({ date, 'cache-control': _, ...headers }: Reply['headers']) => headers;
    for (const [code, path] of real)
      expect(others((await wish(server, `status=${code}`)).headers)).toEqual(
        others((await ask(server, path)).headers),
      );
  });

  test('a status stands for its first error, by header and by query member, at any address', async () => {
    expect(json(await wish(server, 'status=410')).code).toBe('USER_GONE');
    expect(json(await ask(server, `${LIST}?_rehearse=status=503`)).code).toBe('OVERLOADED');
    expect(json(await ask(server, '/a/api/?user=ada&_rehearse=status%3D429')).code).toBe('RATE_LIMITED');
    expect((await ask(server, '/embed.js?_rehearse=500')).status).toBe(500);
    const page = await ask(server, '/people/b/ada?_rehearse=404', { headers: { accept: 'text/html' } });
    expect([page.status, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
  });

  test('an empty list, and a profile with nothing but its name', async () => {
    expect(json(await wish(server, 'empty', LIST))).toEqual({ Shots: [] });
    expect(json(await wish(server, 'empty', '/a/api/?user=ada&post=true'))).toEqual({ posts: [] });
    const [full, empty] = [json(await ask(server, PROFILE)), json(await wish(server, 'empty'))];
    expect(Object.keys(empty)).toEqual(Object.keys(full));
    expect(empty).toMatchObject({ username: 'ada', name: '', avatar: '' });
    expect((await wish(server, 'empty', '/embed.js')).body).toBe((await ask(server, '/embed.js')).body);
  });

  test('delays, alone and before a failure', async () => {
    const started = performance.now();
    expect((await wish(server, 'delay=60')).status).toBe(200);
    expect((await wish(server, 'delay=60-70, status=503')).status).toBe(503);
    // A lower limit is no question of how busy the machine is.
    expect(performance.now() - started).toBeGreaterThan(110);
  });

  test('reset and timeout have no answer; a truncated body is shorter than its content-length', async () => {
    expect(await outcome(wish(server, 'reset'))).toBe('ECONNRESET');
    for (const path of [PROFILE, '/embed.js']) {
      const { length } = (await ask(server, path)).body;
      const socket = await dial(server);
      socket.write(`GET ${path}?_rehearse=truncate HTTP/1.1\r\nHost: x\r\n\r\n`);
      const [head = '', body = ''] = (await hearOut(socket)).toString().split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1.1 200 OK/);
      expect(Number(/content-length: (\d+)/i.exec(head)?.[1])).toBeGreaterThanOrEqual(length);
      expect(body.length).toBeGreaterThan(0);
      expect(body.length).toBeLessThan(length);
    }
    for (const path of [PROFILE, '/nothing', '/embed.js']) {
      const whole = await ask(server, path, { method: 'HEAD' });
      const head = await ask(server, path, { method: 'HEAD', headers: { 'x-rehearse': 'truncate' } });
      expect([path, head.status, head.headers['content-length']]).toEqual([
        path,
        whole.status,
        whole.headers['content-length'],
      ]);
    }
    const socket = await dial(server);
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk;
    });
    socket.write(`GET ${PROFILE}?_rehearse=timeout HTTP/1.1\r\nHost: x\r\n\r\n`);
    await ask(server, PROFILE);
    socket.destroy();
    await once(socket, 'close');
    expect(heard).toBe('');
  });

  test('what is not understood is 400 with a sentence', async () => {
    const { status, body } = await wish(server, 'status=299');
    expect(status).toBe(400);
    expect(JSON.parse(body)).toMatchObject({ code: 'BAD_REQUEST', message: expect.stringContaining('299') });
    expect((await wish(server, 'delay=soon')).status).toBe(400);
  });

  test('wrong requests and preflights have their own answers', async () => {
    expect(json(await wish(server, 'status=503', '/b/api/username/')).code).toBe('OVERLOADED');
    expect((await wish(server, 'status=503', '/a/api/?user=a&user=b')).status).toBe(400);
    const path = `${PROFILE}?_rehearse=503`;
    expect((await ask(server, path, { method: 'OPTIONS' })).status).toBe(204);
    expect((await ask(server, path, { method: 'POST' })).status).toBe(405);
  });
});

test.each([
  PROFILE,
  LIST,
  '/',
  '/embed.js',
  '/nothing',
  '/people/b/nobody',
  '/docs',
  '/samples/ada.svg',
  '/openapi.json',
])('no cache keeps %s', async (path) => {
  for (const accept of ['application/json', 'text/html'])
    expect((await ask(server, path, { headers: { accept } })).headers['cache-control']).toBe('no-store');
});

describe('a run', () => {
  const PATHS = [PROFILE, LIST, '/a/api/?user=ada', '/b/api/username/nobody'];
  const KINDS = '50%:503,429,USER_GONE,reset';

  async function sequence(seed: string, paths: readonly string[] = PATHS): Promise<string[][]> {
    const started = await rehearse('--fail', KINDS, '--seed', seed);
    const all: string[][] = PATHS.map(() => []);
    for (let nth = 0; nth < 20; nth++)
      for (const path of paths) all[PATHS.indexOf(path)]?.push(await outcome(ask(started, path)));
    await started.stop();
    return all;
  }

  test('is the same with the same seed, in whatever order addresses are requested', async () => {
    const first = await sequence('7');
    expect(await sequence('7', PATHS.toReversed())).toEqual(first);
    expect(await sequence('8')).not.toEqual(first);
    expect(new Set(first.flat())).toEqual(new Set(['200', '404', '410', '429', '503', 'ECONNRESET']));
    const failed = first.flat().filter((status) => !['200', '404'].includes(status)).length;
    expect(failed).toBeGreaterThan(20);
    expect(failed).toBeLessThan(60);
  });

  test('leaves probes, pages and requests with wishes of their own alone; pictures take part', async () => {
    const failing = await rehearse('--fail', '100%:503');
    const statuses = ['/readyz', '/', '/embed.js', '/docs', PROFILE, LIST, '/samples/ada.svg'].map(
      async (path) => (await ask(failing, path)).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 200, 200, 200, 503, 503, 503]);
    expect((await wish(failing, 'delay=0')).status).toBe(200);
  });

  test('says its seed', async () => {
    const started = await rehearse('--delay', 'normal:4,2', '--seed', '9');
    expect(started.log.join()).toContain('rehearsal, not for real clients: --delay normal:4,2 --seed 9');
    expect((await ask(started, PROFILE)).status).toBe(200);
    expect(server.log.join()).toMatch(/for real clients: --seed \d+/);
  });
});

test.each(['a file', 'a database'])(
  '%s can be rehearsed with, and a cache header that is set gives way',
  async (data) => {
    const file = fixture('portfolio.ndjson');
    const own: Record<string, string> = data === 'a file' ? {} : { DATABASE_URL: await databaseOf(file) };
    const env = { ...own, CACHE_CONTROL: 'public', PURGE: 'nginx:/cache,post:https://purge.example' };
    const started = await serveHere(env, ['--rehearse', ...(data === 'a file' ? [file] : [])]);
    const { status, headers } = await ask(started, LIST);
    expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
    expect(Object.keys(headers).filter((name) => /cdn|accel|tag$/.test(name))).toEqual(['etag']);
    expect((await wish(started, 'status=410')).status).toBe(410);
  },
);

describe('refusals', () => {
  test.each<[args: string, env: Record<string, string>, sentence: RegExp]>([
    ['--rehearse', { NODE_ENV: 'production' }, /refused with NODE_ENV=production/],
    ['--rehearse', { DATABASE_URL: 'postgres://127.0.0.1/x' }, /files, samples or a SQLite database/],
    ['--rehearse', { HOST: '0.0.0.0' }, /public address, as 0.0.0.0 may be: --yes/],
    ['--rehearse', { LISTEN_FDS: '1' }, /public address/],
    ['--rehearse --delay fast', {}, /--delay takes milliseconds/],
    ['--rehearse --delay 800-300', {}, /--delay takes milliseconds/],
    ['--rehearse --delay 100000', {}, /--delay takes milliseconds up to 60000/],
    ['--rehearse --fail 5', {}, /--fail takes a share/],
    ['--rehearse --fail 101%', {}, /--fail takes a share/],
    ['--rehearse --fail 5%:299', {}, /--fail takes a status.*not 299/],
    ['--delay 5', {}, /go with --rehearse/],
    ['--seed 5', {}, /go with --rehearse/],
  ])('%s %j', async (args, env, sentence) => {
    const { code, stderr } = await prepareServe(['serve', '--samples', ...args.split(' ')], { env });
    expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)]);
  });

  test.each(['127.0.0.2', '::1', 'localhost', '/run/x.sock'])('%s is not public', async (HOST) => {
    const args = ['serve', '--samples', '--rehearse'];
    expect((await prepareServe(args, { env: { HOST } })).code).toBe(0);
  });

  test('--yes allows a public address', async () => {
    const args = ['serve', '--samples', '--rehearse', '--yes'];
    expect((await prepareServe(args, { env: { HOST: '0.0.0.0' } })).code).toBe(0);
  });
});

test('the explorer has its buttons', async () => {
  expect((await ask(server, '/')).body).toContain('src="rehearsal.js"');
  expect((await ask(server, '/rehearsal.js')).body).toContain("new CustomEvent('rehearse'");
});

test('without --rehearse, wishes mean nothing', async () => {
  const usual = await serveHere();
  const { status, headers } = await wish(usual, 'status=503', `${PROFILE}?_rehearse=404`);
  expect([status, headers['cache-control']]).toEqual([200, 'no-cache']);
  expect((await ask(usual, '/rehearsal.js')).status).toBe(404);
  expect((await ask(usual, '/')).body).not.toContain('rehears');
});
