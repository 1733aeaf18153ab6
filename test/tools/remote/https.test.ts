// Requests to sites and hosts: which certificates are believed, what is said of others, and how a body may end.
import { once } from 'node:events';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createSecureContext, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createFileClient } from '../../../src/tools/remote/file-client.ts';
import { createHosts } from '../../../src/tools/remote/host.ts';
import { createHttpClient } from '../../../src/tools/remote/http-client.ts';
import { createSiteClient } from '../../../src/tools/remote/site-client.ts';
import { atEnd } from '../../support/at-end.ts';
import { AUTHORITY, EXPIRED, KEY, OF_ADDRESS, SELF_SIGNED, SIGNED } from '../../support/certificates.ts';
import { PACE, startSite } from '../../support/mirror-site.ts';

setDefaultCACertificates([...getCACertificates('default'), AUTHORITY]);

/** A site with this certificate; `names` lists the host names that were asked for in handshakes. */
async function startSecure(cert: string) {
  const names: string[] = [];
  const server = createServer({
    SNICallback(name, found) {
      names.push(name);
      found(null, createSecureContext({ key: KEY, cert }));
    },
    key: KEY,
    cert,
  });
  let requests = 0;
  server.on('request', (_, response) => {
    requests++;
    response.end('{}');
  });
  atEnd(() => server.closeAllConnections());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, names, requests: () => requests, url: `https://localhost:${port}` };
}

const { signal } = new AbortController();
const RUN = { ...PACE, timeout: 5000, userAgent: 'test', signal };

/** Asks as a mirror does: what is said, and what the failure is about. */
async function askSite(url: string) {
  using hosts = createHosts(RUN);
  return await createSiteClient(hosts, new URL(url), 'b')
    .get('ada', 'profile')
    .then(
      ({ state }) => [state],
      // The message begins with the address.
      ({ message, kind }) => [message.replace(/^\S+: /, ''), kind],
    );
}

/** Asks as a fetch of pictures does, for this many addresses of the first of these sites; what came, or why nothing did. */
async function fetchFiles(urls: readonly string[], times: number) {
  using hosts = createHosts(RUN);
  const sites = urls.map((url) => new URL(url));
  const options = { hosts, sites, named: [], option: '--hosts', maxBytes: 1000, signal: RUN.signal };
  const files = createFileClient(options);
  const found: string[] = [];
  for (let time = 0; time < times; time++) {
    const fetched = await files.fetch(`${urls[0]}/${time}`, async () => 'read');
    found.push('reason' in fetched ? fetched.reason : fetched.body);
  }
  return found;
}

const UNTRUSTED =
  'the certificate is signed by an authority that is not trusted here (NODE_EXTRA_CA_CERTS adds one)';

describe('a certificate', () => {
  test('of a trusted authority is believed, and the host is asked for by its name', async () => {
    const site = await startSecure(SIGNED);
    expect([await askSite(site.url), site.names]).toEqual([['body'], ['localhost']]);
    const client = createHttpClient({ ...RUN, limit: 60_000, origin: new URL(site.url), connections: 1 });
    expect((await client.send({ path: '/', headers: { host: 'other.example' } })).status).toBe(200);
    client.close();
    expect(new Set(site.names)).toEqual(new Set(['localhost']));
  });

  test('for an address is believed, also when a request names another host', async () => {
    const site = await startSecure(OF_ADDRESS);
    setDefaultCACertificates([OF_ADDRESS]);
    try {
      const origin = new URL(`https://127.0.0.1:${site.port}`);
      const client = createHttpClient({ ...RUN, limit: 60_000, origin, connections: 1 });
      const other: Record<string, string> = { host: 'other.example' };
      for (const headers of [{}, other, {}])
        expect((await client.send({ path: '/', headers })).status).toBe(200);
      client.close();
    } finally {
      setDefaultCACertificates([AUTHORITY]);
    }
    expect(site.names).toEqual([]);
  });

  test.each([
    ['that has expired', EXPIRED, 'localhost', 'the certificate has expired'],
    ['that is self-signed', SELF_SIGNED, 'localhost', 'the certificate is self-signed'],
    ['for another name', SIGNED, '127.0.0.1', 'the certificate is for another host name'],
  ])('%s is refused before a request is sent', async (_, cert, host, words) => {
    const site = await startSecure(cert);
    expect(await askSite(`https://${host}:${site.port}`)).toEqual([words, 'site']);
    expect(site.requests()).toBe(0);
  });

  test('of another authority is refused, with what adds one', async () => {
    const site = await startSecure(SIGNED);
    setDefaultCACertificates([]);
    try {
      expect(await askSite(site.url)).toEqual([UNTRUSTED, 'site']);
    } finally {
      setDefaultCACertificates([AUTHORITY]);
    }
  });
});

test('a port that speaks plain HTTP has no TLS connection', async () => {
  const plain = await startSite((_, response) => response.end('{}'));
  expect(await askSite(plain.url.replace('http://127.0.0.1', 'https://localhost'))).toEqual([
    expect.stringMatching(/^there is no TLS connection \(/),
    'site',
  ]);
});

test('a redirect to https is followed by a mirror only if the host was named', async () => {
  const secure = await startSecure(SIGNED);
  const plain = await startSite((_, response) => response.writeHead(301, { location: secure.url }).end());
  expect((await askSite(plain.url))[0]).toContain('redirects to another site, which is not followed: https:');
  expect(await fetchFiles([plain.url, secure.url], 1)).toEqual(['read']);
});

test('a host is given up after 20 failures in a row of any kind', async () => {
  const sites: [url: string, reason: unknown][] = [
    [(await startSecure(EXPIRED)).url, 'the certificate has expired'],
    [
      (await startSite((_, response) => response.socket?.end('hello\r\n\r\n'))).url,
      expect.stringMatching(/^the response is not valid HTTP \(/),
    ],
    [(await startSite((_, response) => response.writeHead(403).end())).url, 'status 403'],
  ];
  for (const [url, reason] of sites)
    expect(await fetchFiles([url], 22)).toEqual([
      ...Array(20).fill(reason),
      ...Array(2).fill(`20 requests to ${new URL(url).host} failed in a row`),
    ]);
});

/** Sends this head, or interim responses, and then a byte from time to time, without end; each comes well within a time-out. */
async function startDripping(head: string, drop = 'a') {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {}).write(head);
    const timer = setInterval(() => socket.write(drop), 50);
    socket.on('close', () => clearInterval(timer));
    atEnd(() => socket.destroy());
  }).listen(0, '127.0.0.1');
  atEnd(() => void server.close());
  await once(server, 'listening');
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

const EARLY = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
const withLength = (status: string) => `HTTP/1.1 ${status}\r\nContent-Length: 100000\r\n\r\n`;
const TOO_SLOW = 'no whole response within 1 s';

test.each([
  ['interim responses', EARLY, EARLY, TOO_SLOW, TOO_SLOW],
  ['a 200', withLength('200 OK'), 'a', TOO_SLOW, TOO_SLOW],
  [
    'a 200 in chunks',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    '1\r\na\r\n',
    TOO_SLOW,
    TOO_SLOW,
  ],
  // What is not wanted of a response does not count.
  ['a 404', withLength('404 Not Found'), 'a', TOO_SLOW, 404],
  ['a 500', withLength('500 Error'), 'a', TOO_SLOW, 500],
  ['a redirect', withLength('301 Moved\r\nLocation: /'), 'a', TOO_SLOW, 301],
])(
  '%s without end, each part in time, ends with the limit of a request',
  async (_, head, drop, sent, received) => {
    const origin = await startDripping(head, drop);
    const client = createHttpClient({ origin, timeout: 60_000, limit: 1000, connections: 2 });
    atEnd(client.close);
    const read = async (chunks: AsyncIterable<Buffer>) => (await Array.fromAsync(chunks)).length;
    const outcome = (response: Promise<{ status: number }>) =>
      response.then(({ status }) => status).catch(({ message }) => message);
    expect(
      await Promise.all([
        outcome(client.send({ path: '/' })),
        outcome(client.receive({ path: '/' }, read, 200_000)),
      ]),
    ).toEqual([sent, received]);
  },
);

/** Sends a response to each connection and closes it; `closed` resolves when the first one has been sent whole. */
async function startClosing(head: string, body: Buffer) {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(head);
      socket.end(body, resolve);
    });
  }).listen(0, '127.0.0.1');
  atEnd(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { origin: new URL(`http://127.0.0.1:${port}`), closed };
}

const BODY = Buffer.alloc(200_000, 'x');

test.each([
  ['a body without a length', 'HTTP/1.0 200 OK\r\n\r\n', BODY.length],
  ['a whole body', `HTTP/1.0 200 OK\r\nContent-Length: ${BODY.length}\r\n\r\n`, BODY.length],
  [
    'a body that is cut off',
    `HTTP/1.0 200 OK\r\nContent-Length: ${BODY.length + 1}\r\n\r\n`,
    'SiteError: Response body length does not match content-length header',
  ],
])('%s ends with its connection while its reader is slow', async (_, head, expected) => {
  const { origin, closed } = await startClosing(head, BODY);
  const client = createHttpClient({ origin, timeout: 5000, limit: 60_000, connections: 1 });
  const read = async (chunks: AsyncIterable<Buffer>) => {
    let length = 0;
    for await (const chunk of chunks) {
      length += chunk.length;
      await closed;
      for (let turns = 0; turns < 10; turns++) await nextTurn();
    }
    return length;
  };
  const read200 = client.receive({ path: '/' }, read, 2 * BODY.length);
  const seen = await read200.then(({ body }) => body, String);
  client.close();
  expect(seen).toBe(expected);
});
