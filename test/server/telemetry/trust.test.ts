// The log: which proxies it trusts, that no client can forge a line, and the lines of failed and slow requests.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { databaseOf } from '../../support/database.ts';
import { fixture, tempFolder } from '../../support/files.ts';
import { ask, dial, hearOut } from '../../support/http.ts';
import { done } from '../../support/run.ts';
import { serveHere } from '../../support/serve-here.ts';
import { type LocalServer, startServer } from '../../support/server.ts';
import { type LogLine, linesOf, logged, until } from '../../support/stress.ts';

type Headers = Record<string, string | string[]>;
const ARABIC_DIGIT_ONE = '\u0661';
const C1 = '\x9b31m\x85\x90';

const TRUST = { nobody: '', one: '127.0.0.1', networks: 'loopback, 10.0.0.0/8, fc00::/7' };
type Whom = keyof typeof TRUST;
const servers = {} as Record<Whom, LocalServer>;
beforeAll(async () => {
  for (const [whom, networks] of Object.entries(TRUST))
    servers[whom as Whom] = await serveHere({ TRUST_PROXY: networks, ACCESS_LOG: 'on' });
});

let asked = 0;
/** The access log line of a request with these headers, sent unchanged. */
async function lineFor(server: LocalServer, headers: Headers, from = '127.0.0.1'): Promise<LogLine> {
  const url = `/a/api/?user=ada&nr=${++asked}.`;
  await ask(server, url, { headers: headers as Record<string, string>, from });
  return await until('its line', () => linesOf(server).find((line) => line.url === url));
}

const OURS = expect.stringMatching(/^[0-9a-z]+-[0-9a-z]+$/);
const forwardedFor = (value: string | string[]): Headers => ({ 'x-forwarded-for': value });

describe('client address', () => {
  const DIRECT = '127.0.0.1';
  test.each<[whom: Whom, said: string | string[], client: string]>([
    ['nobody', '6.6.6.6', DIRECT],
    ['nobody', '127.0.0.1, 6.6.6.6', DIRECT],
    ['one', '6.6.6.6', '6.6.6.6'],
    ['one', '1.1.1.1, 6.6.6.6', '6.6.6.6'],
    ['one', '6.6.6.6, 127.0.0.1', '6.6.6.6'],
    ['one', '6.6.6.6, 127.0.0.2', '127.0.0.2'],
    ['one', ['1.1.1.1', '6.6.6.6'], '6.6.6.6'],
    ['one', '  6.6.6.6  ', '6.6.6.6'],
    ['one', '2001:db8::1', '2001:db8::1'],
    ['one', '::ffff:6.6.6.6', '::ffff:6.6.6.6'],
    ['networks', '1.1.1.1, 10.0.0.5', '1.1.1.1'],
    ['networks', '9.9.9.9, 1.1.1.1, 10.0.0.5, fc00::8', '1.1.1.1'],
    ['networks', '10.1.1.1, 10.0.0.5', '10.1.1.1'],
    ['networks', '1.1.1.1, ::ffff:10.0.0.5', '1.1.1.1'],
    ['networks', '2001:db8::1, fd00::1', '2001:db8::1'],
    // An invalid address is ignored: the client is then the proxy that sent it.
    ...['', ',', 'unknown', '_hidden', 'localhost', '999.1.1.1', '1.1.1', '0x7f.1', '6.6.6.6"', `6.6.6.${C1}`]
      .concat('"}\\n{"level":30,"msg":"forged"}')
      .map((said): [Whom, string, string] => ['one', said, DIRECT]),
    ['networks', '1.1.1.1, junk, 10.0.0.5', '10.0.0.5'],
    ['networks', `1.1.1.1, ${C1}, 10.0.0.5, 10.0.0.6`, '10.0.0.5'],
  ])('trusting %s, X-Forwarded-For %j gives %s', async (whom, said, client) => {
    expect((await lineFor(servers[whom], forwardedFor(said))).client).toBe(client);
  });

  test('forwarding headers from an untrusted address are ignored', async () => {
    const headers = { ...forwardedFor('6.6.6.6'), 'x-forwarded-proto': 'https', 'x-request-id': 'forged' };
    const line = await lineFor(servers.one, headers, '127.0.0.2');
    expect(line).toMatchObject({ client: '127.0.0.2', protocol: 'http', id: OURS });
  });

  test('other forwarding headers are ignored', async () => {
    const headers = {
      forwarded: 'for=6.6.6.6;proto=https',
      'x-real-ip': '6.6.6.6',
      'x-client-ip': '6.6.6.6',
      'cf-connecting-ip': '6.6.6.6',
      'x-forwarded-protocol': 'https',
      'x-forwarded-ssl': 'on',
    };
    expect(await lineFor(servers.one, headers)).toMatchObject({ client: DIRECT, protocol: 'http' });
  });
});

describe('protocol', () => {
  test.each<[whom: Whom, said: string | string[], protocol: string]>([
    ['nobody', 'https', 'http'],
    ['one', 'https', 'https'],
    ['one', 'http', 'http'],
    ['one', 'http, https', 'https'],
    ['one', 'https, http', 'http'],
    ['one', ['https', 'http'], 'http'],
    ['one', '', 'http'],
    ['one', 'https"', 'http'],
    ['one', `https${C1}`, 'http'],
    ['one', 'gopher', 'http'],
  ])('trusting %s, X-Forwarded-Proto %j gives %s', async (whom, said, protocol) => {
    expect((await lineFor(servers[whom], { 'x-forwarded-proto': said })).protocol).toBe(protocol);
  });
});

describe('request id', () => {
  const GOOD = [
    ...['a-good-one', '0123456789abcdef0123456789abcdef', 'urn:uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427'],
    ...['Root=1-67891233-abcdef012345678912345678', 'x'.repeat(128)],
  ];
  const BAD = [
    'x'.repeat(129),
    '',
    'two words',
    ['one', 'two'],
    'quoted"',
    'back\\slash',
    '{"json":1}',
    `id${C1}`,
  ];
  test.each<[whom: Whom, kept: boolean, ids: (string | string[])[]]>([
    ['nobody', false, ['a-good-one']],
    ['one', true, GOOD],
    ['one', false, BAD],
  ])('trusting %s, X-Request-Id is kept: %s', async (whom, kept, ids) => {
    for (const said of ids)
      expect((await lineFor(servers[whom], { 'x-request-id': said })).id).toEqual(kept ? said : OURS);
  });

  test('is unique, and the same in every log line of a request', async () => {
    const ids = await Promise.all(
      Array.from({ length: 50 }, async () => (await lineFor(servers.nobody, {})).id),
    );
    expect(new Set(ids).size).toBe(50);
  });
});

test('a traceparent is logged if it is well-formed, whoever sends it', async () => {
  const [trace, parent] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
  const good = `00-${trace}-${parent}-01`;
  for (const [said, kept] of [
    [good, good],
    [`cc-${trace}-${parent}-01-what-the-future-will-be-like`, `cc-${trace}-${parent}-01`],
    [`cc-${trace}-${parent}-01`, `cc-${trace}-${parent}-01`],
    [`${good}-more`, undefined],
    [`cc-${trace}-${parent}-01.more`, undefined],
    [`ff-${trace}-${parent}-01`, undefined],
    [`00-${'0'.repeat(32)}-${parent}-01`, undefined],
    [`00-${trace}-${'0'.repeat(16)}-01`, undefined],
    [good.toUpperCase(), undefined],
    [` ${trace}`, undefined],
    [[good, good], undefined],
    ['', undefined],
  ] as const)
    expect({
      said,
      traceparent: (await lineFor(servers.nobody, { traceparent: said as string })).traceparent,
    }).toEqual({ said, traceparent: kept });
});

test('only the origin of a referer is logged, and only of a web page', async () => {
  for (const [said, kept] of [
    ['https://site.example/mail/ada?token=s3cret#top', 'https://site.example'],
    ['http://ada:s3cret@site.example:8080/', 'http://site.example:8080'],
    [`https://${'a'.repeat(8000)}/`, `https://${'a'.repeat(248)}`],
    [`https://site.example/${'a'.repeat(8000)}`, 'https://site.example'],
    ['https://site.example/\x9b31m"', 'https://site.example'],
    ['https://site\x9b31m.example/', undefined],
    ['android-app://org.example.mail/inbox/7', undefined],
    ['file:///home/ada/page.html', undefined],
    ['/people/b/ada', undefined],
    ['', undefined],
  ] as const)
    expect({ said, referer: (await lineFor(servers.nobody, { referer: said })).referer }).toEqual({
      said,
      referer: kept,
    });
});

test('no request can forge a log line or send control characters to a terminal', async () => {
  const server = await startServer({ TRUST_PROXY: '127.0.0.1', ACCESS_LOG: 'on' });
  const written: Buffer[] = [];
  server.child.stdout?.on('data', (chunk: Buffer) => written.push(chunk));
  const evil = [
    ...['\\n', '%0a', '%0d%0a{"level":50}', '"', '\\"', '\x1b[31m', '\x07', '\x7f', '\x85', '\x9b31m'],
    ...['\xe2\x80\xa8', '\t', '\xff', '\x24{jndi:x}', '\\u001b', '<script>'],
  ];
  const places: ((text: string) => string)[] = [
    (text) => `GET /a/api/?user=${text} HTTP/1.1\r\nHost: x\r\n`,
    (text) => `GET /${text} HTTP/1.1\r\nHost: x\r\n`,
    (text) => `GET http://${text}/a/api/?user=ada HTTP/1.1\r\nHost: x\r\n`,
    (text) => `${text} / HTTP/1.1\r\nHost: x\r\n`,
    (text) => `GET / HTTP/1.1${text}\r\nHost: x\r\n`,
    ...'Host X-Forwarded-For X-Forwarded-Proto X-Request-Id User-Agent Referer Origin If-None-Match'
      .split(' ')
      .map(
        (name) => (text: string) =>
          `GET / HTTP/1.1\r\n${name === 'Host' ? '' : 'Host: x\r\n'}${name}: ${text}\r\n`,
      ),
  ];
  for (const place of places)
    for (const text of evil) {
      const socket = await dial(server);
      const heard = hearOut(socket);
      socket.write(Buffer.from(`${place(text)}Connection: close\r\n\r\n`, 'latin1'));
      expect((await heard).length).toBeGreaterThan(0);
    }
  await ask(server, '/the-last-one');
  await until('the last line', () => linesOf(server).some(({ url }) => url === '/the-last-one'));
  const text = Buffer.concat(written).toString('utf8');
  expect(text).not.toMatch(/[^\n\x20-\x7e]/);
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as LogLine);
  expect(lines.length).toBeGreaterThan(100);
  expect(lines.some(({ userAgent = '' }) => /\\x/.test(String(userAgent)))).toBe(true);
  for (const line of lines.filter(({ url }) => url !== undefined)) {
    const fields = Object.keys(line).filter((name) => name !== 'userAgent');
    expect(fields.join(' ')).toBe(
      'level time id client protocol method url variant name status bytes ms msg',
    );
    expect(line).toMatchObject({
      level: 30,
      client: '127.0.0.1',
      protocol: 'http',
      id: OURS,
      msg: 'request',
    });
  }
  // Digits of other scripts are not part of an address, and very long addresses are cut.
  await ask(server, `/${'x'.repeat(5000)}${encodeURIComponent(ARABIC_DIGIT_ONE)}`);
  const long = await until('a long line', () =>
    linesOf(server).find(({ url }) => String(url).startsWith('/xxx')),
  );
  expect(String(long.url).length).toBeLessThan(2000);
});

describe('server events', () => {
  test('a request that fails, and is slow, has a line for each, with its id', async () => {
    const path = join(tempFolder(), 'snapshot.db');
    await done(['snapshot', '--database-url', await databaseOf(fixture('microblog.ndjson')), path]);
    const server = await startServer({ DATABASE_URL: path, SLOW_REQUEST: '100ms' });
    // While the file is locked, lookups wait and then fail.
    const locking = new Database(path);
    locking.exec('BEGIN EXCLUSIVE');
    const { status, headers } = await ask(server, '/a/api/?user=pekka');
    locking.exec('ROLLBACK');
    locking.close();
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    const request = { url: '/a/api/?user=pekka', id: headers['x-request-id'] };
    expect(await logged(server, /request failed/)).toMatchObject({ level: 50, ...request });
    expect(await logged(server, /slow request/)).toMatchObject({ level: 40, status: 503, ...request });
    await until('answers as before', async () => (await ask(server, '/a/api/?user=pekka')).status === 200);
    await server.stop();
    // Fast requests have no line unless the access log is on.
    expect(linesOf(server).filter(({ msg }) => msg === 'request')).toEqual([]);
  });
});
