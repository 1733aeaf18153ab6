// What src/server/edge/undocumented.ts and src/api/http/undocumented.ts take from Node without its documentation: each test fails
// when Node changes it.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { waitForSocket } from '../../../src/api/http/undocumented.ts';
import { closeRestingConnections } from '../../../src/server/edge/http-server.ts';
import { createEmptyRequest, takeOverIdleClose } from '../../../src/server/edge/undocumented.ts';
import { dial, hearOut, parseReplies, sendRaw } from '../../support/http.ts';
import { startHolding, startOwn } from '../../support/own-server.ts';
import { until } from '../../support/stress.ts';

const get = (url: string, more = '') => `GET ${url} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

/** For how many requests Node makes objects meanwhile. */
async function countRequests(during: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const note = () => count++;
  subscribe('http.server.request.start', note);
  await during();
  unsubscribe('http.server.request.start', note);
  return count;
}

test('`upgrade` of a request: Node parses none that is too early or after the last', async () => {
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

test('`destroySoon`: closing over unread bytes does not lose the last response', async () => {
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

test('`closeIdleConnections`: a server that is closed answers connections that are kept', async () => {
  const own = await startOwn();
  const socket = await dial(own);
  socket.write(get('/'));
  await once(socket, 'data');
  takeOverIdleClose(own.server);
  own.server.close();
  socket.write(get('/'));
  await once(socket, 'data');
  closeRestingConnections(own.server);
  await once(own.server, 'close');
});

test('`httpAllowHalfOpen`: a client that ends its side gets the answer', async () => {
  const socket = await dial(await startOwn());
  const heard = hearOut(socket);
  socket.end(get('/late'));
  expect(parseReplies(await heard).map(({ status }) => status)).toEqual([200]);
});

const MANY_CHUNKS = '1\r\na\r\n'.repeat(11_000);

test.each([
  ['a body in chunks of a byte', 'Transfer-Encoding: chunked\r\n', MANY_CHUNKS],
  ['a body of a known length', 'Content-Length: 1000000000\r\n', MANY_CHUNKS],
])('`push` of a request: %s is not kept, and only its first part is read', async (_, header, part) => {
  const { own, requests, answer } = await startHolding();
  const socket = await dial(own);
  const heard = hearOut(socket);
  socket.write(get('/', header) + part);
  await until('the request', () => requests.length === 1);
  const [request] = requests as [IncomingMessage];
  // The system takes what it has room for.
  socket.write(part.repeat(20));
  await sendRaw(own, 'no request\r\n\r\n');
  expect(request.readableLength).toBe(0);
  expect(request.socket.bytesRead).toBeLessThan(2 * part.length);
  answer();
  expect(parseReplies(await heard).map(({ status }) => status)).toEqual([200]);
});

// The rest is read for a second at most, in which a busy machine may not get to it.
test.each([
  ['Connection: close', 100_000],
  ['Connection: close', 3_000_000],
  ['Content-Length: 9000000', 100_000],
  ['Content-Length: 9000000', 3_000_000],
  ['Transfer-Encoding: chunked', 100_000],
  ['Transfer-Encoding: chunked', 3_000_000],
])(
  '`data` of a socket: after %s, at most 256 KB of %i bytes are read',
  { retry: 2 },
  async (header, size) => {
    const { own, requests, answer } = await startHolding();
    const socket = await dial(own);
    const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve));
    const head = get('/', `${header}\r\n`);
    socket.write(head);
    await until('the request', () => requests.length === 1);
    const [request] = requests as [IncomingMessage];
    const server = request.socket;
    const count = await countRequests(async () => {
      answer();
      await once(socket, 'data');
      socket.resume().end(Buffer.alloc(size, `0\r\n\r\n${get('/')}`));
      await Promise.all([
        closed,
        server.destroyed || new Promise((resolve) => server.once('close', resolve)),
      ]);
    });
    expect({ count, complete: request.complete }).toEqual({
      count: 0,
      complete: header === 'Connection: close',
    });
    if (size === 100_000) expect(server.bytesRead).toBe(head.length + size);
    else expect(server.bytesRead).toBeLessThan(512 * 1024);
  },
);

test('a client that reads nothing is cut off, however many requests it sent', async () => {
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

test('`IncomingMessage`: one that is made for a socket is an empty request', () => {
  const made = new Socket();
  const { socket, headers, url, method } = createEmptyRequest(made);
  expect(socket).toBe(made);
  expect({ headers, url, method }).toEqual({ headers: {}, url: '', method: '' });
});

test('`socket` of a response: one to a request sent ahead gets it in its turn', async () => {
  const responses: ServerResponse[] = [];
  const own = await startOwn(false, {}, (_, response) => void responses.push(response));
  const socket = await dial(own);
  const heard = hearOut(socket);
  socket.write(get('/') + get('/', 'Connection: close\r\n'));
  await until('both requests', () => responses.length === 2);
  const [first, second] = responses as [ServerResponse, ServerResponse];
  await waitForSocket(first);
  const waiting = waitForSocket(second);
  expect(second.socket).toBeNull();
  first.end('1');
  await waiting;
  expect(second.socket).toBe(first.req.socket);
  second.end('2');
  expect(parseReplies(await heard).length).toBe(2);
});
