// What is promised to clients without a proxy: memory is bounded, others are answered, no answer is lost to a close.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { findConnection } from '../../../src/server/edge/connection.ts';
import { createHttpServer } from '../../../src/server/edge/http-server.ts';
import {
  ask,
  atEnd,
  dial,
  hearOut,
  type LocalServer,
  parseReplies,
  sendRaw,
  startServer,
} from '../../support/rig.ts';
import { serveHere } from '../../support/serve-here.ts';
import { adminOf, linesOf } from '../../support/stress.ts';

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
  [get('/healthz'), 200],
  [get('/docs'), 200],
];
const ofAllKinds = (count: number) =>
  Array.from({ length: count }, (_, nth) => KINDS[nth % KINDS.length] as (typeof KINDS)[0]);
const statusesOf = (kinds: typeof KINDS) => kinds.map(([, status]) => status);

describe('requests ahead of their answers', () => {
  test.each([1, 3, 4])('%i of all kinds are answered in order', async (count) => {
    const chosen = ofAllKinds(count);
    const socket = await dial(server);
    const heard = hearOut(socket);
    socket.end(chosen.map(([request]) => request).join(''));
    expect(parseReplies(await heard).map(({ status }) => status)).toEqual(statusesOf(chosen));
  });

  test.each([5, 100, 20_000])('of %i, four are answered, and the connection is closed', async (count) => {
    const chosen = ofAllKinds(4);
    const bytes = chosen.map(([request]) => request).join('') + get(ADA).repeat(count - 4);
    expect((await sendRaw(server, bytes)).map(({ status }) => status)).toEqual(statusesOf(chosen));
  });

  test('are answered in order when they are cut anywhere, and the client ends its side', async () => {
    const kinds = ofAllKinds(4);
    const bytes = kinds.map(([request]) => request).join('');
    for (const size of [1, 7, 100]) {
      const socket = await dial(server);
      const heard = hearOut(socket);
      for (let at = 0; at < bytes.length; at += size) {
        socket.write(bytes.slice(at, at + size));
        if (at % 11 === 0) await new Promise(setImmediate);
      }
      socket.end();
      expect(parseReplies(await heard).map(({ status }) => status)).toEqual(statusesOf(kinds));
    }
  });

  test('a malformed one comes after the answers before it', async () => {
    const replies = await sendRaw(server, `${get(ADA).repeat(3)}no request\r\n\r\n${get(ADA)}`);
    expect(replies.map(({ status }) => status)).toEqual([...Array(3).fill(200), 400]);
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

describe('what server/edge/ takes from Node without its documentation', () => {
  /** Serves `/large` with 2 MB; `/last` says that it is the last answer. */
  async function startOwn(isDraining = false, settings = {}) {
    const route: RequestListener = ({ url }, response) => {
      if (url === '/last') response.setHeader('connection', 'close');
      response.end(Buffer.alloc(url === '/large' ? 2_000_000 : 300));
    };
    const own = createHttpServer(route, {
      config: readConfig(settings),
      observe() {},
      state: { isDraining },
    });
    await once(own.listen(0, '127.0.0.1'), 'listening');
    atEnd(() => own.close());
    return own.address() as AddressInfo;
  }

  /** For how many requests Node makes objects meanwhile. */
  async function countRequests(during: () => Promise<unknown>): Promise<number> {
    let count = 0;
    const note = () => count++;
    subscribe('http.server.request.start', note);
    await during();
    unsubscribe('http.server.request.start', note);
    return count;
  }

  test('`upgrade` of a request: Node makes none of those that come too early, or behind a last answer', async () => {
    const own = await startOwn();
    expect(await countRequests(() => sendRaw(own, get('/').repeat(20_000)))).toBe(4);
    const behindLast = async () => {
      const socket = await dial(own);
      socket.write(get('/last'));
      await once(socket, 'data');
      socket.write(get('/').repeat(20_000));
      await hearOut(socket);
    };
    expect(await countRequests(behindLast)).toBe(1);
  });

  test('`destroySoon`: a last answer is not lost to the reset of a close over unread bytes', async () => {
    const own = await startOwn();
    for (const first of ['/large', '/last']) {
      const socket = (await dial(own)).on('error', () => {}).pause();
      socket.write(get(first).repeat(first === '/large' ? 5 : 1));
      for (let nth = 0; nth < 20; nth++) {
        socket.write(Buffer.alloc(10_000, 'x'));
        await new Promise(setImmediate);
      }
      const replies = parseReplies(await hearOut(socket.resume()));
      expect(replies.length).toBe(first === '/large' ? 4 : 1);
    }
  });

  test('`httpAllowHalfOpen`: a client that ends its side gets the answer', async () => {
    const socket = await dial(server);
    const heard = hearOut(socket);
    socket.end(get('/b/api/username/ada/shots'));
    expect(parseReplies(await heard).map(({ status }) => status)).toEqual([200]);
  });

  test('a client that takes no byte is cut off, however many requests it has sent ahead', async () => {
    const own = await startOwn(false, { writeTimeout: '100ms' });
    for (const count of [1, 5]) {
      const socket = (await dial(own)).on('error', () => {}).pause();
      socket.write(get('/large').repeat(count));
      // A client that does not read learns of the reset when it writes.
      const writing = setInterval(() => socket.write('x'), 50);
      await new Promise((resolve) => socket.once('close', resolve));
      clearInterval(writing);
    }
  });

  test('while the server stops, each connection ends with its next answer', async () => {
    const own = await startOwn(true);
    expect((await sendRaw(own, get('/'))).map(({ headers }) => headers.connection)).toEqual(['close']);
  });
});

test('above the limit of connections, the one idle longest makes room; one that is ending is not idle', () => {
  const own = createHttpServer(() => {}, {
    config: readConfig({ maxConnections: '3' }),
    observe() {},
    state: { isDraining: false },
  });
  const sockets: Socket[] = [];
  const connect = () => {
    const socket = new Socket();
    own.emit('connection', socket);
    return sockets.push(socket);
  };
  const gone = () => sockets.flatMap(({ destroyed }, nth) => (destroyed ? [nth] : []));
  for (let nth = 0; nth < 3; nth++) connect();
  expect(gone()).toEqual([]);
  findConnection(sockets[0] as Socket).end();
  connect();
  expect(gone()).toEqual([1]);
  // In one turn of the event loop.
  connect();
  connect();
  expect(gone()).toEqual([1, 2, 3]);
  for (const socket of sockets) socket.destroy();
});
