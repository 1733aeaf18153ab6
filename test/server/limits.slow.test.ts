// Limits: request rate, timeouts, and load shedding while the event loop lags.
import { once } from 'node:events';
import { beforeAll, describe, expect, test } from 'vitest';
import { ask, dial, hearOut, json, parseReplies, type Reply, sendRaw } from '../support/http.ts';
import { serveHere, serveLookups } from '../support/serve-here.ts';
import { type LocalServer, startServer } from '../support/server.ts';
import { until } from '../support/stress.ts';

const ADA = '/a/api/?user=ada';
const ORIGIN = 'https://one.example';
const PREFLIGHT = { method: 'OPTIONS', headers: { origin: ORIGIN, 'access-control-request-method': 'GET' } };
const LAST = 'Connection: close\r\n';
const get = (url: string, more = '') => `GET ${url} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

describe('RATE_LIMIT', () => {
  const REQUESTS = 5;
  let server: LocalServer;
  beforeAll(async () => {
    server = await serveHere({
      RATE_LIMIT: `${REQUESTS}/1h`,
      RATE_LIMIT_EXEMPT: '10.0.0.0/8, 2001:db8:ffff::/48',
      TRUST_PROXY: '127.0.0.1',
    });
  });

  const direct = (from: string, url = ADA, options = {}) => ask(server, url, { from, ...options });
  /** Requests as a client behind the trusted proxy. */
  const behind = (client: string, url = ADA) => ask(server, url, { headers: { 'x-forwarded-for': client } });
  async function useUp(request: () => Promise<Reply>) {
    for (let turn = 0; turn < REQUESTS; turn++) expect((await request()).status).not.toBe(429);
  }

  test('counts down in the headers, then answers 429 with Retry-After', async () => {
    for (let left = REQUESTS - 1; left >= 0; left--) {
      const { status, headers } = await direct('127.0.1.1');
      expect([status, headers['ratelimit-policy']]).toEqual([200, `"default";q=${REQUESTS};w=3600`]);
      expect(headers.ratelimit).toMatch(new RegExp(`^"default";r=${left};t=\\d{1,4}$`));
      expect(headers['retry-after']).toBeUndefined();
    }
    const { status, headers, body } = await direct('127.0.1.1');
    expect([status, JSON.parse(body)]).toEqual([
      429,
      { statusCode: '429', code: 'RATE_LIMITED', error: 'Too Many Requests', message: expect.any(String) },
    ]);
    const seconds = /^"default";r=0;t=(\d+)$/.exec(String(headers.ratelimit))?.[1];
    expect(headers).toMatchObject({
      'retry-after': seconds,
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.stringMatching(/Retry-After/i),
    });
    expect(Number(seconds)).toBeGreaterThan(0);
  });

  // Every kind of response counts, including cheap ones.
  test.each<[what: string, from: string, url: string, options: Parameters<typeof ask>[2]]>([
    ['a ready answer', '127.0.2.1', ADA, {}],
    ['an unknown user', '127.0.2.4', '/b/api/username/nobody', {}],
    ['an unsupported method', '127.0.2.6', ADA, { method: 'DELETE' }],
    ['bad input', '127.0.2.7', '/a/api/?user=%', {}],
    ['a preflight', '127.0.2.8', ADA, PREFLIGHT],
    ['a request refused before routing', '127.0.2.9', `/${'x'.repeat(9000)}`, {}],
  ])('applies to %s', async (_, from, url, options) => {
    await useUp(() => direct(from, url, options));
    expect((await direct(from, url, options)).status).toBe(429);
  });

  test('applies to bytes that are no request', async () => {
    const rubbish = async () => (await sendRaw(server, 'rubbish\r\n\r\n'))[0] as Reply;
    await useUp(rubbish);
    expect((await rubbish()).status).toBe(429);
    expect((await direct('127.0.0.1', '/healthz')).status).toBe(200);
  });

  test.each([
    ['the same IPv6 /64 network', '2001:db8:1:2:a::1', '2001:0db8:1:2:b:c:d:e', 429],
    ['the next /64 network', '2001:db8:1:3::1', '2001:db8:1:4::1', 200],
    ['an IPv4 address written as IPv6', '192.0.2.1', '::ffff:192.0.2.1', 429],
    ['the next IPv4 address', '192.0.2.2', '192.0.2.3', 200],
    ['the nearest untrusted hop, whatever precedes it', '6.6.6.6, 192.0.2.9', '7.7.7.7, 192.0.2.9', 429],
    ['an exempt network', '10.1.2.3', '10.1.2.3', 200],
    ['an exempt IPv6 network', '2001:db8:ffff::1', '2001:db8:ffff::1', 200],
  ])('%s: after %s has reached the limit, %s gets %i', async (_, first, second, status) => {
    await useUp(() => behind(first));
    const reply = await behind(second);
    expect(reply.status).toBe(status);
    expect('ratelimit' in reply.headers).toBe(!(first.startsWith('10.') || first.includes('ffff::')));
  });

  test('cannot be bypassed by headers of an untrusted client', async () => {
    let turn = 0;
    const lying = () =>
      direct('127.0.1.4', ADA, {
        headers: { 'x-forwarded-for': `192.0.2.${100 + turn++}`, forwarded: `for=${turn}` },
      });
    await useUp(lying);
    expect((await lying()).status).toBe(429);
  });

  test('neither limits nor counts probes', async () => {
    await useUp(() => direct('127.0.1.5'));
    for (let turn = 0; turn < 3 * REQUESTS; turn++)
      for (const url of ['/healthz', '/readyz', '/readyz?x=1']) {
        const { status, headers } = await direct('127.0.1.5', url);
        expect({ status, ratelimit: headers.ratelimit }).toEqual({ status: 200, ratelimit: undefined });
      }
    await Promise.all(Array.from({ length: 3 * REQUESTS }, () => direct('127.0.1.6', '/healthz')));
    expect((await direct('127.0.1.6')).headers.ratelimit).toContain(`r=${REQUESTS - 1};`);
  });

  test('resets when its window ends', async () => {
    const brief = await serveHere({ RATE_LIMIT: '2/1s' });
    await until('a refusal', async () => (await ask(brief, ADA)).status === 429);
    const reply = await until('a new window', async () => {
      const answer = await ask(brief, ADA);
      return answer.status === 200 && answer;
    });
    expect(reply.headers['ratelimit-policy']).toBe('"default";q=2;w=1');
  });
});

describe('timeouts', () => {
  let server: LocalServer;
  beforeAll(async () => {
    server = await startServer({ REQUEST_TIMEOUT: '4s', KEEP_ALIVE_TIMEOUT: '4s' });
  });

  const TOO_SLOW = [408, 'REQUEST_TIMEOUT'];
  test.concurrent.each<[what: string, sent: string, first: (number | string)[]]>([
    ['no data', '', TOO_SLOW],
    ['half a request line', 'GET /a/ap', TOO_SLOW],
    ['headers that never end', 'GET / HTTP/1.1\r\nHost: x\r\n', TOO_SLOW],
    ['a complete request, then half of one', `${get('/healthz')}GET /he`, [200, 'ok']],
    ['a complete request, then nothing', get('/healthz'), [200, 'ok']],
    ['a request whose body never comes', get('/healthz', 'Content-Length: 9\r\n'), [200, 'ok']],
    ['a request whose body never ends', get('/healthz', 'Transfer-Encoding: chunked\r\n'), [200, 'ok']],
  ])('%s: the connection is closed', async (_, sent, first) => {
    const replies = await sendRaw(server, sent);
    const said = replies.map((reply) => [reply.status, json(reply).code ?? json(reply).status]);
    // After a response the connection may be closed without an error.
    expect([first, [...first, ...TOO_SLOW]]).toContainEqual(said.flat());
    for (const { status, headers } of replies.filter(({ status }) => status === 408))
      expect([status, headers.connection, headers['access-control-allow-origin']]).toEqual([
        408,
        'close',
        '*',
      ]);
  });
});

describe('MAX_LOOP_DELAY', () => {
  /** A server in this process whose lookups each occupy it for 150 ms, and six lookups and a probe at once. */
  async function flood(maxLoopDelay: string): Promise<Reply[]> {
    const profile = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
    const server = await serveLookups({ profile }, { maxLoopDelay });
    const urls = [...Array.from({ length: 6 }, (_, nth) => `/a/api/?user=user${nth}`), '/healthz'];
    const sockets = await Promise.all(urls.map(() => dial(server)));
    // One connection is accepted in a turn of the event loop.
    for (const socket of sockets) {
      socket.write(get('/healthz'));
      await once(socket, 'data');
    }
    const heard = sockets.map(hearOut);
    for (const [nth, socket] of sockets.entries()) socket.write(get(urls[nth] as string, LAST));
    const replies = (await Promise.all(heard)).map((bytes) => parseReplies(bytes)[0] as Reply);
    // All have been answered, so nothing waits.
    expect((await ask(server, '/nothing')).status).toBe(404);
    return replies;
  }

  test('requests that waited too long get 503, probes and later requests are answered', async () => {
    const replies = await flood('200ms');
    const shed = replies.filter(({ status }) => status === 503);
    expect(replies.map(({ status }) => status).filter((status) => status !== 503)).toEqual(
      expect.arrayContaining([404, 200]),
    );
    expect(shed.length).toBeGreaterThan(0);
    for (const reply of shed) {
      expect(json(reply)).toMatchObject({ statusCode: '503', code: 'OVERLOADED' });
      expect(reply.headers).toMatchObject({
        'retry-after': '1',
        'cache-control': 'no-store',
        'access-control-allow-origin': '*',
      });
    }
  });

  test('0 turns load shedding off', async () => {
    expect((await flood('0')).map(({ status }) => status)).toEqual([...Array(6).fill(404), 200]);
  });
});
