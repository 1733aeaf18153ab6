// `vitrine serve --rehearse`: slow, failing and cut answers, on purpose. Other answers and refusals are in
// fixtures/cases/rehearsal.txt.
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES, FAILURES } from '../../src/api/http/errors.ts';
import { ask, dial, hearOut, parseReplies, type Reply } from '../support/http.ts';
import { serveHere } from '../support/serve-here.ts';
import type { LocalServer } from '../support/server.ts';

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
    expect({ status, body }).toEqual({ status: FAILURES[code].status, body: FAILURES[code].body.toString() });
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

  test('delays, alone and before a failure', async () => {
    const started = performance.now();
    expect((await wish(server, 'delay=60')).status).toBe(200);
    expect((await wish(server, 'delay=60-70, status=503')).status).toBe(503);
    // A lower limit is no question of how busy the machine is.
    expect(performance.now() - started).toBeGreaterThan(110);
  });

  test('a reset comes after the answers to earlier requests of the connection', async () => {
    const asking = (wish: string) => `GET ${PROFILE}?_rehearse=${wish} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const socket = await dial(server);
    const received: Buffer[] = [];
    socket.on('data', (chunk) => received.push(chunk)).write(asking('delay=100') + asking('reset'));
    await expect(once(socket, 'close')).rejects.toThrow('ECONNRESET');
    expect(parseReplies(Buffer.concat(received)).map(({ status }) => status)).toEqual([200]);
  });

  test('a timeout has no answer; a truncated body is shorter than its content-length', async () => {
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

  test('says its seed, and that one process serves', async () => {
    const started = await rehearse('--workers', '2', '--delay', 'normal:4,2', '--seed', '9');
    expect(started.log.join()).toContain('rehearsal, not for real clients: --delay normal:4,2 --seed 9');
    expect(started.log.join()).toContain('one process rehearses: WORKERS has no effect');
    expect((await ask(started, PROFILE)).status).toBe(200);
    expect(server.log.join()).toMatch(/for real clients: --seed \d+/);
  });
});
