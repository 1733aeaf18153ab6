// Requests rejected before routing (malformed HTTP, oversized input, odd requests) get the usual JSON errors.
import { once } from 'node:events';
import { beforeAll, describe, expect, test } from 'vitest';
import { ask, dial, hearOut, json, parseReplies, type Reply, sendRaw } from '../../support/http.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';
import { linesOf, metricsOf, until } from '../../support/stress.ts';
import { HTTP_CASES, UNFINISHED } from './http-cases.ts';

let server: LocalServer;
beforeAll(async () => {
  server = await serveHere({ ACCESS_LOG: 'on', ADMIN_PORT: '0' });
});

/** Every error is complete JSON whose members are strings, with the headers of an error response. */
function expectRefusal(reply: Reply) {
  const { status } = reply;
  expect(json(reply).code).toMatch(CODES[status] as RegExp);
  expect(Object.keys(json(reply))).toEqual(['statusCode', 'code', 'error', 'message']);
  for (const value of Object.values(json(reply))) expect(value).toBeTypeOf('string');
  expect(json(reply).statusCode).toBe(String(status));
  expect(reply.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(reply.body)),
    'cache-control':
      status === 404
        ? expect.stringMatching(/^(private, )?max-age=5, stale-while-revalidate=0$/)
        : 'no-store',
    'access-control-allow-origin': '*',
    'x-content-type-options': 'nosniff',
    date: expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/),
  });
  expect(reply.body).not.toMatch(/node_modules|\.[jt]s\b|Error:|FST_|HPE_/);
}

const HOST = 'Host: vitrine.example\r\n';
const LAST = `${HOST}Connection: close\r\n`;
const ADA = '/a/api/?user=ada';
const get = (target: string, headers = LAST) => `GET ${target} HTTP/1.1\r\n${headers}\r\n`;

/** The code of each status; 400 and 404 have several. */
const CODES: Record<number, RegExp> = {
  400: /^(BAD_REQUEST|HOST_MISSING|USER_MISSING|BAD_ESCAPE)$/,
  404: /^(USER|ROUTE)_NOT_FOUND$/,
  405: /^METHOD_NOT_ALLOWED$/,
  414: /^URI_TOO_LONG$/,
  417: /^EXPECTATION_FAILED$/,
  431: /^HEADERS_TOO_LARGE$/,
};

describe('rejected requests', () => {
  test('a damaged HTTP/2 connection preface is no fault of the server', async () => {
    await sendRaw(server, 'PRI *qHTTP/0.0\r\nHost: x\r\n\r\n');
    expect(server.log.filter((line) => JSON.parse(line).level > 40)).toEqual([]);
  });

  // Responses to HEAD have no body.
  test.each(HTTP_CASES.filter(({ bytes }) => !bytes.startsWith('HEAD')))(
    '$name: as the table says, and each error as JSON',
    async ({ bytes, statuses, open }) => {
      const replies = await sendRaw(server, bytes + get('/last'));
      expect(replies.map(({ status }) => status)).toEqual([...statuses, ...(open ? [404] : [])]);
      for (const reply of replies.filter(({ status }) => status >= 400)) {
        expectRefusal(reply);
        if (reply.status === 405) expect(reply.headers.allow).toBe('GET, HEAD, OPTIONS');
      }
      if (!open && (statuses.at(-1) ?? 0) >= 400) expect(replies.at(-1)?.headers.connection).toBe('close');
    },
  );

  const statusesOf = (text: Buffer) =>
    [...text.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

  /** Sends two pieces, the second after the server has read the first, and the end of the client's side if wanted. */
  async function sendCut(first: string, second: string, ends: boolean): Promise<Buffer> {
    const socket = await dial(server);
    const heard = hearOut(socket);
    socket.write(Buffer.from(first, 'latin1'));
    await ask(server, '/healthz');
    if (socket.writable) socket.write(Buffer.from(second, 'latin1'));
    if (ends) socket.end();
    return await heard;
  }

  test.each([
    ['cut in two, all requests', HTTP_CASES, get('/last'), false],
    ['ended by the client, all unfinished ones', UNFINISHED, '', true],
  ] as const)('%s get the same answers', async (_, cases, last, ends) => {
    for (const { name, bytes, statuses, open } of cases)
      for (const share of [0.02, 0.5, 0.98]) {
        const at = Math.ceil(share * bytes.length);
        const heard = await sendCut(bytes.slice(0, at), bytes.slice(at) + last, ends);
        expect([name, share, statusesOf(heard)]).toEqual([
          name,
          share,
          [...statuses, ...(open ? [404] : [])],
        ]);
      }
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
      socket.write(get(ADA, HOST).repeat(3) + refused + get(ADA, HOST).repeat(40));
      for (const wait of [1, 3]) setTimeout(() => socket.write(get(ADA, HOST).repeat(300)), wait);
      const replies = parseReplies(await heard);
      expect(replies.map(({ status }) => status)).toEqual([...Array(3).fill(200), 414]);
    }
  });
});

test.each([
  ['1', `PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n${get(ADA)}`],
  ['2', `\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\xdc\x04\x01\xbb${get(ADA)}`],
])('version %s of the PROXY protocol is named in the response and in the log', async (_, bytes) => {
  const own = await serveHere({});
  const [reply, ...others] = await sendRaw(own, Buffer.from(bytes, 'latin1'));
  expect([reply?.status, others]).toEqual([400, []]);
  expect(json(reply as Reply)).toMatchObject({
    code: 'PROXY_PROTOCOL',
    message: expect.stringContaining('turn it off in the proxy, and send X-Forwarded-For'),
  });
  expect(linesOf(own).filter(({ level }) => level === 40)).toMatchObject([
    { msg: expect.stringContaining('a proxy speaks the PROXY protocol'), count: 1 },
  ]);
});

test('a HEAD request that the parser rejects gets no body', async () => {
  for (const before of ['', get(ADA, HOST)]) {
    const socket = await dial(server);
    const heard = hearOut(socket);
    socket.write(`${before}HEAD / HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`);
    const text = (await heard).toString();
    expect(text.slice(text.lastIndexOf('HTTP/1.1 '))).toMatch(/^HTTP\/1.1 400 .*\r\n\r\n$/s);
  }
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
    [get(ADA, `Host: a\r\n${LAST}`), 'GET', 400],
    [get(`/${'x'.repeat(20_000)}`), '', 414],
    [get(ADA, `${LAST}X: ${'x'.repeat(20_000)}\r\n`), '', 431],
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
