// Requests sent ahead of their answers: however many, all are answered in order.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../src/config/config.ts';
import { createHttpServer } from '../src/edge/http-server.ts';
import { ask, dial, hearOut, type LocalServer, parseReplies, sendRaw, startServer } from './rig.ts';
import { serveHere } from './serve-here.ts';
import { adminOf, linesOf } from './stress.ts';

const get = (url: string, more = '') => `GET ${url} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const LAST = 'Connection: close\r\n';
const ADA = '/a/api/?user=ada';

let server: LocalServer;
beforeAll(async () => {
  server = await serveHere({ ADMIN_PORT: '0' });
});

/** Kinds of requests, with the status that each must get. */
const KINDS: [request: string, status: number][] = [
  [get(ADA), 200],
  [get('/a/api/?user=nobody'), 404],
  [get('/readyz'), 200],
  [`${get(ADA, 'Content-Length: 4\r\n')}GET `, 200],
  [get(ADA, 'Upgrade: websocket\r\nConnection: Upgrade\r\n'), 200],
  [get('/docs'), 200],
];

describe('pipelined requests', () => {
  test.each([1, 8, 9, 17, 100, 1500])('%i of all kinds are answered in order', async (count) => {
    const chosen = Array.from({ length: count }, (_, nth) => KINDS[nth % KINDS.length] as (typeof KINDS)[0]);
    const bytes = chosen.map(([request]) => request).join('') + get('/openapi.json', LAST);
    const replies = await sendRaw(server, bytes);
    expect(replies.map(({ status }) => status)).toEqual([...chosen.map(([, status]) => status), 200]);
  });

  test('are answered in order when they are cut anywhere, and the client ends its side', async () => {
    const bytes = KINDS.map(([request]) => request)
      .join('')
      .repeat(6);
    for (const size of [1, 7, 100, 1000]) {
      const socket = await dial(server);
      const heard = hearOut(socket);
      for (let at = 0; at < bytes.length; at += size) {
        socket.write(bytes.slice(at, at + size));
        if (at % 11 === 0) await new Promise(setImmediate);
      }
      socket.end();
      const statuses = parseReplies(await heard).map(({ status }) => status);
      expect(statuses).toEqual(Array.from({ length: 6 }, () => KINDS.map(([, status]) => status)).flat());
    }
  });

  test('a malformed one comes after the answers before it', async () => {
    const replies = await sendRaw(server, `${get(ADA).repeat(50)}no request\r\n\r\n${get(ADA)}`);
    expect(replies.map(({ status }) => status)).toEqual([...Array(50).fill(200), 400]);
  });

  test('a client that disconnects while they wait does no harm', async () => {
    for (let nth = 0; nth < 30; nth++) {
      const socket = await dial(server);
      socket.write(get('/openapi.json').repeat(500));
      setTimeout(() => (nth % 2 === 0 ? socket.resetAndDestroy() : socket.destroy()), nth);
      await once(socket, 'close');
    }
    expect((await ask(server, ADA)).status).toBe(200);
    expect(linesOf(server).filter(({ level }) => level > 40)).toEqual([]);
  });

  test.each(['1', '2'])('the admin port of %s process(es) answers them in order as well', async (workers) => {
    const own = workers === '1' ? server : await startServer({ ADMIN_PORT: '0', WORKERS: workers });
    const statuses = (await sendRaw(adminOf(own), get('/readyz').repeat(50) + get('/nothing', LAST))).map(
      ({ status }) => status,
    );
    expect(statuses).toEqual([...Array(50).fill(200), 404]);
    // Node loses what follows a wish to upgrade. A server may ignore the wish (RFC 9110 7.8), and may close after any
    // response that says so: the client asks again for what was not answered (RFC 9112 9.6).
    const upgrade = get('/healthz', 'Upgrade: websocket\r\nConnection: Upgrade\r\n');
    const replies = await sendRaw(adminOf(own), upgrade + get('/readyz'));
    expect(replies.map(({ status, headers }) => [status, headers.connection])).toEqual([[200, 'close']]);
  });
});

test('requests behind an answer that the client takes slowly are all answered', async () => {
  const bodies = { '/': Buffer.alloc(300), '/large': Buffer.alloc(2_000_000) };
  const route: RequestListener = ({ url, headers }, response) => {
    response.shouldKeepAlive = headers.connection !== 'close';
    response.end(bodies[url as keyof typeof bodies]);
  };
  const own = createHttpServer(route, { config: readConfig({}), observe() {} });
  await once(own.listen(0, '127.0.0.1'), 'listening');
  const group = get('/') + get('/large') + get('/').repeat(6);
  const replies = await sendRaw(own.address() as AddressInfo, group.repeat(5) + get('/', LAST));
  own.close();
  expect(replies.length).toBe(41);
});

test('requests behind a last answer take no memory: Node makes no responses for them', async () => {
  const config = readConfig({});
  const route: RequestListener = ({ url }, response) =>
    response
      .writeHead(200, ['content-length', '0', ...(url === '/last' ? ['connection', 'close'] : [])])
      .end();
  const own = createHttpServer(route, { config, observe() {} });
  await once(own.listen(0, '127.0.0.1'), 'listening');
  let responses = 0;
  const count = () => responses++;
  subscribe('http.server.request.start', count);
  const socket = await dial(own.address() as AddressInfo);
  socket.write(get('/last'));
  await once(socket, 'data');
  socket.write(get('/').repeat(20_000));
  await hearOut(socket);
  unsubscribe('http.server.request.start', count);
  own.close();
  expect(responses).toBe(1);
});
