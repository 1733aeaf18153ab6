// What is promised to clients without a proxy: memory is bounded, others are answered, no answer is lost to a close.
import { once } from 'node:events';
import { Socket } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { findConnection } from '../../../src/server/edge/connection.ts';
import { closeRestingConnections, createHttpServer } from '../../../src/server/edge/http-server.ts';
import { ask, dial, hearOut, parseReplies, sendRaw } from '../../support/http.ts';
import { startHolding, startOwn } from '../../support/own-server.ts';
import { serveHere } from '../../support/serve-here.ts';
import { type LocalServer, startServer } from '../../support/server.ts';
import { adminOf, linesOf, until } from '../../support/stress.ts';

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

test('a server that stops closes only connections without a response or request under way', async () => {
  const own = await startOwn();
  const accepted: Socket[] = [];
  own.server.on('connection', (socket) => accepted.push(socket));
  const [silent, kept, halfway, reading] = [
    await dial(own),
    await dial(own),
    await dial(own),
    await dial(own),
  ];
  for (const socket of [kept, halfway]) {
    socket.write(get('/'));
    await once(socket, 'data');
  }
  halfway.write('GET / HT');
  // More than the buffers of the system hold.
  reading.pause().write(get('/large').repeat(4));
  await until('what is read and unwritten', () => {
    const [, , third, fourth] = accepted as [Socket, Socket, Socket, Socket];
    return third.bytesRead > get('/').length && fourth.writableLength > 0;
  });
  closeRestingConnections(own.server);
  expect((await Promise.all([silent, kept].map(hearOut))).map(({ length }) => length)).toEqual([0, 0]);
  const heard = [halfway, reading].map(hearOut);
  halfway.end('TP/1.1\r\nHost: x\r\n\r\n');
  reading.resume().end();
  const replies = (await Promise.all(heard)).map(parseReplies);
  expect(replies.map(({ length }) => length)).toEqual([1, 4]);
});

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
    const readStatuses = async () =>
      (await sendRaw(adminOf(own), get('/readyz').repeat(3) + get('/nothing', LAST))).map(
        ({ status }) => status,
      );
    // A worker that a busy machine gives no CPU for two seconds is not ready.
    await expect.poll(readStatuses).toEqual([...Array(3).fill(200), 404]);
    // Node loses what follows a wish to upgrade. A server may ignore the wish (RFC 9110 7.8), and may close after any
    // response that says so: the client asks again for what was not answered (RFC 9112 9.6).
    const upgrade = get('/healthz', 'Upgrade: websocket\r\nConnection: Upgrade\r\n');
    const replies = await sendRaw(adminOf(own), upgrade + get('/readyz'));
    expect(replies.map(({ status, headers }) => [status, headers.connection])).toEqual([[200, 'close']]);
  });
});

test('while 250 requests wait, each connection has one of them; afterwards four again', async () => {
  const { own, requests, answer } = await startHolding();
  const sendTogether = async (count: number) => {
    const socket = await dial(own);
    const heard = hearOut(socket);
    socket.write(get('/').repeat(count));
    return { socket, heard };
  };
  const others = await Promise.all(Array.from({ length: 250 }, () => sendTogether(1)));
  await until('their requests', () => requests.length === 250);
  const first = await sendTogether(5);
  const second = await sendTogether(5);
  await until('one of each', () => requests.length === 252);
  // Those of clients that leave do not count any more.
  for (const { socket } of others) socket.resetAndDestroy();
  await until('their end', () => requests.filter(({ socket }) => socket.destroyed).length === 250);
  answer();
  for (const { heard } of [first, second]) expect(parseReplies(await heard).length).toBe(1);
  const third = await sendTogether(5);
  await until('four', () => requests.length === 256);
  answer();
  expect(parseReplies(await third.heard).length).toBe(4);
});

test('while the server stops, each connection ends with its next answer', async () => {
  const own = await startOwn(true);
  expect((await sendRaw(own, get('/'))).map(({ headers }) => headers.connection)).toEqual(['close']);
});

test('above the limit, the connection idle longest makes room, not one that is ending', () => {
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
