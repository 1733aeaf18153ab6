// Requests rejected before routing (malformed HTTP, oversized input, odd requests) get the usual JSON errors.
import { once } from 'node:events';
import { beforeAll, describe, expect, test } from 'vitest';
import { ask, dial, hearOut, json, type LocalServer, parseReplies, type Reply, sendRaw } from './rig.ts';
import { serveHere } from './serve-here.ts';
import { linesOf, metricsOf, until } from './stress.ts';

let server: LocalServer;
beforeAll(async () => {
  server = await serveHere({ ACCESS_LOG: 'on', ADMIN_PORT: '0' });
});

/** Every error is complete JSON whose members are strings, with the headers of an error response. */
function expectRefusal(reply: Reply, status: number, code: string) {
  expect([reply.status, json(reply).code]).toEqual([status, code]);
  expect(Object.keys(json(reply))).toEqual(['statusCode', 'code', 'error', 'message']);
  for (const value of Object.values(json(reply))) expect(value).toBeTypeOf('string');
  expect(json(reply).statusCode).toBe(String(status));
  expect(reply.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(reply.body)),
    'cache-control': status === 404 ? 'max-age=5' : 'no-store',
    'access-control-allow-origin': '*',
    'x-content-type-options': 'nosniff',
  });
  expect(reply.body).not.toMatch(/node_modules|\.[jt]s\b|Error:|FST_|HPE_/);
}

const HOST = 'Host: vitrine.example\r\n';
const LAST = `${HOST}Connection: close\r\n`;
const ADA = '/a/api/?user=ada';
const get = (target: string, headers = LAST) => `GET ${target} HTTP/1.1\r\n${headers}\r\n`;

// The bytes sent, and the status and code of the only response.
const RAW: [what: string, bytes: string | Buffer, status: number, code: string][] = [
  ['not HTTP', 'hello\r\n\r\n', 400, 'BAD_REQUEST'],
  ['a TLS ClientHello', Buffer.from('16030100c8010000c40303', 'hex'), 400, 'BAD_REQUEST'],
  ['the HTTP/2 connection preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'BAD_REQUEST'],
  ['an unknown HTTP version', `GET ${ADA} HTTP/1.7\r\n${LAST}\r\n`, 400, 'BAD_REQUEST'],
  ['an unknown method', `FETCH ${ADA} HTTP/1.1\r\n${LAST}\r\n`, 400, 'BAD_REQUEST'],
  ['a lower-case method', `get ${ADA} HTTP/1.1\r\n${LAST}\r\n`, 400, 'BAD_REQUEST'],
  ['a space in the target', get('/a/api/?user=a b'), 400, 'BAD_REQUEST'],
  ['non-ASCII bytes in the target', get('/a/api/?user=é'), 400, 'BAD_REQUEST'],
  ['a NUL in a header', get(ADA, `${LAST}X: a\0b\r\n`), 400, 'BAD_REQUEST'],
  ['a header without a name', get(ADA, `${LAST}: x\r\n`), 400, 'BAD_REQUEST'],
  ['a space before the colon', get(ADA, `${LAST}X : x\r\n`), 400, 'BAD_REQUEST'],
  ['a folded header', get(ADA, `${LAST}X: a\r\n b\r\n`), 400, 'BAD_REQUEST'],
  ['line feeds without carriage returns', `GET ${ADA} HTTP/1.1\nHost: a\n\n`, 400, 'BAD_REQUEST'],
  ['a Content-Length that is not a number', get(ADA, `${LAST}Content-Length: x\r\n`), 400, 'BAD_REQUEST'],
  [
    'two Content-Length headers',
    get(ADA, `${LAST}Content-Length: 1\r\nContent-Length: 2\r\n`),
    400,
    'BAD_REQUEST',
  ],
  [
    'Content-Length with chunked encoding',
    get(ADA, `${LAST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n`),
    400,
    'BAD_REQUEST',
  ],
  ['no Host header', get(ADA, 'Connection: close\r\n'), 400, 'HOST_MISSING'],
  ['two Host headers', get(ADA, `Host: one.example\r\n${LAST}`), 400, 'HOST_MISSING'],
  ['a target with another scheme', get('ftp://vitrine.example/a/api/?user=ada'), 400, 'BAD_REQUEST'],
  ['GET *', get('*'), 400, 'BAD_REQUEST'],
  ['a target that is not a path', get('a/api/?user=ada'), 400, 'BAD_REQUEST'],
  ['CONNECT', `CONNECT vitrine.example:443 HTTP/1.1\r\n${LAST}\r\n`, 405, 'METHOD_NOT_ALLOWED'],
  ['an unknown Expect header', get(ADA, `${LAST}Expect: wonders\r\n`), 417, 'EXPECTATION_FAILED'],
  ['a URL of 9 KB', get(`/a/api/?user=${'x'.repeat(9000)}`), 414, 'URI_TOO_LONG'],
  ['a URL of 20 KB', get(`/a/api/?user=${'x'.repeat(20_000)}`), 414, 'URI_TOO_LONG'],
  ['a header of 20 KB', get(ADA, `${LAST}X: ${'x'.repeat(20_000)}\r\n`), 431, 'HEADERS_TOO_LARGE'],
  ['a cookie of 70 KB', get(ADA, `${LAST}Cookie: ${'x'.repeat(70_000)}\r\n`), 431, 'HEADERS_TOO_LARGE'],
  ['5,000 headers', get(ADA, `${LAST}${'X: y\r\n'.repeat(5000)}`), 431, 'HEADERS_TOO_LARGE'],
  [
    'an absolute target with an unknown user',
    get('http://vitrine.example/a/api/?user=nobody'),
    404,
    'USER_NOT_FOUND',
  ],
  ['an absolute target with an unknown path', get('http://vitrine.example/nothing'), 404, 'ROUTE_NOT_FOUND'],
];

describe('rejected requests', () => {
  test('a damaged HTTP/2 connection preface is no fault of the server', async () => {
    await sendRaw(server, 'PRI *qHTTP/0.0\r\nHost: x\r\n\r\n');
    expect(server.log.filter((line) => JSON.parse(line).level > 40)).toEqual([]);
  });

  test.each(RAW)('%s', async (_, bytes, status, code) => {
    const replies = await sendRaw(server, bytes);
    expect(replies).toHaveLength(1);
    expectRefusal(replies[0] as Reply, status, code);
    expect(replies[0]?.headers.connection).toBe('close');
    if (status === 405) expect(replies[0]?.headers.allow).toBe('GET, HEAD, OPTIONS');
  });

  test('an unsupported method with a body gets 405 and its body is not parsed', async () => {
    const [reply] = await sendRaw(
      server,
      `POST ${ADA} HTTP/1.1\r\n${LAST}Content-Type: application/json\r\nContent-Length: 3\r\n\r\n{x}`,
    );
    expectRefusal(reply as Reply, 405, 'METHOD_NOT_ALLOWED');
  });

  // The parser may find the broken body only after the request was answered.
  test.each(['GET', 'POST'])('%s with a malformed chunked body', async (method) => {
    for (const coding of ['chunked', 'rot13']) {
      const bytes = `${method} ${ADA} HTTP/1.1\r\n${HOST}Transfer-Encoding: ${coding}\r\n\r\nZZ\r\n`;
      const replies = await sendRaw(server, bytes);
      expect(replies).not.toHaveLength(0);
      for (const reply of replies) {
        if (reply.status === 200) expect([method, json(reply).username]).toEqual(['GET', 'ada']);
        else if (reply.status === 405) expectRefusal(reply, 405, 'METHOD_NOT_ALLOWED');
        else expectRefusal(reply, 400, 'BAD_REQUEST');
      }
    }
  });

  test('a bad request after a good one on the same connection is rejected', async () => {
    const [good, bad, ...more] = await sendRaw(server, `${get(ADA, HOST)}rubbish\r\n\r\n`);
    expect([good?.status, json(good as Reply).username, more]).toEqual([200, 'ada', []]);
    expectRefusal(bad as Reply, 400, 'BAD_REQUEST');
  });

  test.each<[string, string, number[]]>([
    ['garbage after two requests', `${get(ADA, HOST).repeat(2)}rubbish\r\n\r\n`, [200, 200, 400]],
    ['CONNECT after a request', `${get(ADA, HOST)}CONNECT a:1 HTTP/1.1\r\n${HOST}\r\n`, [200, 405]],
    [
      'garbage after a request that is answered asynchronously',
      `${get('/readyz', HOST)}rubbish\r\n\r\n`,
      [200, 400],
    ],
    [
      'a request after Connection: close',
      get(ADA, HOST) + get(ADA, `${HOST}Connection: close\r\n`) + get(ADA, HOST),
      [200, 200],
    ],
  ])('earlier responses are sent before the error: %s', async (_, bytes, statuses) => {
    const replies = await sendRaw(server, bytes);
    expect(replies.map(({ status }) => status)).toEqual(statuses);
  });

  test('a client that disconnects before the error is sent does no harm', async () => {
    for (let nth = 0; nth < 60; nth++) {
      const socket = await dial(server);
      socket.write(`CONNECT a:1 HTTP/1.1\r\n${HOST}\r\n`);
      socket.resetAndDestroy();
    }
    expect((await sendRaw(server, get(ADA, `${HOST}Connection: close\r\n`)))[0]?.status).toBe(200);
  });

  // Closing a socket with unread input resets the connection, which may lose responses already sent.
  test('pipelined input after a refusal does not lose earlier responses', async () => {
    const refused = get(`/${'x'.repeat(9000)}`, HOST);
    for (let round = 0; round < 100; round++) {
      const socket = await dial(server);
      const heard = hearOut(socket);
      socket.write(get(ADA, HOST).repeat(20) + refused + get(ADA, HOST).repeat(40));
      for (const wait of [1, 3]) setTimeout(() => socket.write(get(ADA, HOST).repeat(300)), wait);
      const replies = parseReplies(await heard);
      expect(replies.map(({ status }) => status)).toEqual([...Array(20).fill(200), 414]);
    }
  });

  test('a malformed request that arrives byte by byte is rejected', async () => {
    const socket = await dial(server);
    const heard = hearOut(socket);
    for (const byte of get(ADA, `Host: a\r\nConnection: close\r\nX y\r\n`))
      if (socket.writable) socket.write(byte);
    const replies = parseReplies(await heard);
    expectRefusal(replies[0] as Reply, 400, 'BAD_REQUEST');
  });
});

describe('unusual requests that are answered', () => {
  test.each([
    ['HTTP/1.0 without Host', `GET ${ADA} HTTP/1.0\r\n\r\n`],
    ['an absolute target', get(`http://vitrine.example${ADA}`)],
    ['an absolute target of https, with a port', get(`HTTPS://vitrine.example:8443${ADA}`)],
    ['an upgrade to WebSocket', get(ADA, `${HOST}Connection: Upgrade, close\r\nUpgrade: websocket\r\n`)],
    [
      'an upgrade to HTTP/2',
      get(
        ADA,
        `${HOST}Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n`,
      ),
    ],
    ['a GET with a body', `GET ${ADA} HTTP/1.1\r\n${LAST}Content-Length: 3\r\n\r\n{x}`],
    ['blank lines before the request line', `\r\n\r\n${get(ADA)}`],
    ['header names in any case', `GET ${ADA} HTTP/1.1\r\nhOsT: x\r\ncOnnection: CLOSE\r\n\r\n`],
  ])('%s', async (_, bytes) => {
    const replies = await sendRaw(server, bytes);
    expect(replies.map((reply) => [reply.status, json(reply).username])).toEqual([[200, 'ada']]);
  });

  test('Expect: 100-continue gets 100 Continue, then the response', async () => {
    const socket = await dial(server);
    const heard = hearOut(socket);
    socket.write(`GET ${ADA} HTTP/1.1\r\n${LAST}Expect: 100-continue\r\nContent-Length: 1\r\n\r\n`);
    await once(socket, 'data');
    socket.write('x');
    const statuses = parseReplies(await heard).map((reply) => reply.status);
    expect(statuses.filter((status) => status !== 100)).toEqual([200]);
  });
});

test('HEAD gets the same errors as GET, without a body', async () => {
  for (const target of ['/nothing', '/a/api/', '/a/api/?user=nobody', `/b/api/username/${'x'.repeat(300)}`]) {
    const [got, head] = [await ask(server, target), await ask(server, target, { method: 'HEAD' })];
    expectRefusal(got, got.status, json(got).code);
    expect([head.status, head.body]).toEqual([got.status, '']);
    expect(head.headers['content-length']).toBe(got.headers['content-length']);
  }
});

test('HEAD that the parser rejects gets no body', async () => {
  const socket = await dial(server);
  const heard = hearOut(socket);
  socket.write(`${get(ADA, HOST)}HEAD ${ADA} HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`);
  expect(String(await heard)).toMatch(/HTTP\/1\.1 400 .*content-length: \d.*\r\n\r\n$/s);
});

test('requests refused before routing are counted and logged', async () => {
  const others = /^vitrine_requests_total\{variant="none",operation="other",status="(\d+)"\}$/;
  const counts = async () =>
    Object.fromEntries(
      [...(await metricsOf(server))].flatMap(([name, count]) => {
        const status = others.exec(name)?.[1];
        return status === undefined ? [] : [[status, count]];
      }),
    );
  const logged = () => linesOf(server).filter(({ name }) => name === 'other');
  const [before, lines] = [await counts(), logged().length];
  const cases: [bytes: string, method: string, status: number][] = [
    ['rubbish\r\n\r\n', '', 400],
    [`HEAD ${ADA} HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`, 'HEAD', 400],
    [get(ADA, `Host: a\r\n${LAST}`), 'GET', 400],
    [get(`/${'x'.repeat(20_000)}`), 'GET', 414],
    [get(ADA, `${LAST}X: ${'x'.repeat(20_000)}\r\n`), 'GET', 431],
    [`CONNECT a:1 HTTP/1.1\r\n${LAST}\r\n`, 'CONNECT', 405],
  ];
  for (const [bytes] of cases)
    (await dial(server))
      .on('error', () => {})
      .end(bytes)
      .resume();
  await until('their lines', () => logged().length === lines + cases.length);
  expect(
    logged()
      .slice(lines)
      .map(({ method, status, client }) => [method, status, client]),
  ).toEqual(expect.arrayContaining(cases.map(([, method, status]) => [method, status, '127.0.0.1'])));
  const after = await counts();
  for (const status of [400, 405, 414, 431])
    expect([status, (after[status] ?? 0) - (before[status] ?? 0)]).toEqual([
      status,
      cases.filter((one) => one[2] === status).length,
    ]);
});

test('the server still answers afterwards and has logged no error', async () => {
  expect((await ask(server, ADA)).status).toBe(200);
  expect(server.log.filter((line) => !line.startsWith('{') || JSON.parse(line).level > 30)).toEqual([]);
});

test('MAX_HEADER_BYTES sets the limit of headers', async () => {
  const generous = await serveHere({ MAX_HEADER_BYTES: '64K' });
  const [reply] = await sendRaw(generous, get(ADA, `${LAST}X: ${'x'.repeat(20_000)}\r\n`));
  expect(reply?.status).toBe(200);
});
