// Generated requests, well-formed and not: no 5xx, no hang, no crash, and nothing but strings in every body.
import { METHODS } from 'node:http';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { ask, databaseOf, dial, fixture, hearOut, readRecords, type Server, startServer, ugly } from './rig.ts';
import { linesOf } from './stress.ts';

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 100_000);
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const BATCH = 100;
const CONNECTIONS = Math.ceil(REQUESTS / 50);
const AT_ONCE = 4;
const HANG_MS = 30_000;
const LIMIT = 60_000 + REQUESTS * 5;
console.log(`fuzz: FUZZ_REQUESTS=${REQUESTS} FUZZ_SEED=${SEED}`);

const FILES = [fixture('microblog.ndjson'), fixture('portfolio.ndjson'), ugly('hostile-names.ndjson')];
const NAMES = FILES.flatMap(readRecords).flatMap(({ username }) => (username as string | undefined) ?? []);

let server: Server;
beforeAll(async () => {
  // Where others work on the same machine the event loop may lag: shedding is for other tests.
  server = await startServer({ DATABASE_URL: await databaseOf(...FILES), MAX_LOOP_DELAY: '0', MAX_HEADER_BYTES: '64K' });
});

const TARGET = [...Array(94).keys()].map((code) => String.fromCharCode(code + 33)).join('');
const ofTarget = (maxLength: number) => fc.string({ unit: fc.constantFrom(...TARGET), maxLength });
const escaped = fc.uint8Array({ maxLength: 6 }).map((bytes) => [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''));
const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NAMES).map(encodeURIComponent) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }).map((text) => encodeURIComponent(text.toWellFormed())) },
  { weight: 2, arbitrary: ofTarget(10) },
  { weight: 1, arbitrary: escaped },
  { weight: 1, arbitrary: fc.constantFrom('', '.', '..', '%', '%zz', '%2', '%00', '%2f', '%ff', '__proto__', 'constructor', 'shots', 'x'.repeat(256), '%F0%9F%98%80'.repeat(255)) },
);
const member = fc.oneof(
  name.map((user) => `user=${user}`),
  fc.constantFrom('post=true', 'post', 'post=', 'post=1', 'user', 'user=', '&', '=', '%75ser=ada', '__proto__=1', 'user[]=1', 'toString'),
  ofTarget(12),
);
const path = fc.oneof(
  { weight: 3, arbitrary: fc.array(member, { maxLength: 4 }).map((members) => `/a/api/?${members.join('&')}`) },
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom('b', 'c'), name, fc.constantFrom('', '/shots', '/shots/', '/', '/x', '?user=1')).map(([variant, user, rest]) => `/${variant}/api/username/${user}${rest}`) },
  { weight: 1, arbitrary: ofTarget(24).map((rest) => `/${rest}`) },
  { weight: 1, arbitrary: ofTarget(16).map((rest) => `http://x.example/${rest}`) },
  { weight: 1, arbitrary: fc.constantFrom('/', '/healthz', '/readyz', '/metrics', '/a', '/a/api', '/b/api/username', '//', '/%2e%2e/', '*', 'http://', `/${'y'.repeat(9000)}`) },
);
const HEADERS = 'If-None-Match,If-Match,If-Modified-Since,Range,Accept,Accept-Encoding,Origin,Access-Control-Request-Method,Access-Control-Request-Headers,Authorization,Cookie,Referer,User-Agent,X-Forwarded-For,X-Forwarded-Proto,X-Request-Id,X-HTTP-Method-Override,Forwarded,Upgrade,TE,Via,Date,Content-Type';
const VALUES = ['*', '""', 'W/"x"', '"a", "b",', 'bytes=0-1', 'bytes=-', 'null', 'gzip;q=0', 'websocket', '127.0.0.1', 'DELETE', 'x'.repeat(2000)];
const value = fc.oneof(fc.constantFrom(...VALUES), fc.string({ unit: fc.constantFrom(...TARGET, ' ', '\t', '\xe9', '\x9b'), maxLength: 24 }));
const headers = fc.array(fc.tuple(fc.constantFrom(...HEADERS.split(',')), value), { maxLength: 3 });
// CONNECT takes the connection over; it has its turn among the raw bytes.
const OTHERS = METHODS.filter((method) => !['GET', 'CONNECT'].includes(method));
const method = fc.oneof({ weight: 3, arbitrary: fc.constant('GET') }, { weight: 1, arbitrary: fc.constantFrom(...OTHERS) });
const body = fc.oneof({ weight: 9, arbitrary: fc.constant('') }, { weight: 1, arbitrary: fc.constantFrom('{}', 'x', '{"user":"ada"}', '<x/>') });
const request = fc.record({ method, path, headers, body });
type Request = { method: string; path: string; headers: [string, string][]; body: string };

const written = ({ method, path, headers, body }: Request, last: boolean) =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}` +
  `${body === '' ? '' : `Content-Length: ${body.length}\r\n`}${last ? 'Connection: close\r\n' : ''}\r\n${body}`;

/** All that the server says until it ends the connection, or the complaint that it does not. */
async function exchange(bytes: Buffer, ending = false): Promise<Buffer> {
  const socket = await dial(server);
  const heard = hearOut(socket);
  socket.write(bytes);
  if (ending) socket.end();
  let timer: NodeJS.Timeout | undefined;
  const hang = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the server hangs')), HANG_MS);
  });
  return Promise.race([heard, hang]).finally(() => clearTimeout(timer));
}

const isText = (value: unknown) => typeof value === 'string';
const isFlat = (value: unknown) => typeof value === 'object' && value !== null && Object.values(value).every(isText);

/** What is wrong with a body: it has to be an object of strings, or of one list of such. */
function faultOf(body: string): string | undefined {
  const value = JSON.parse(body);
  if (isFlat(value) && !Array.isArray(value) && Object.keys(value).length > 0) return undefined;
  const lists = Object.values(value);
  if (lists.length !== 1 || !Array.isArray(lists[0])) return 'neither an object of strings nor of one list';
  if (lists[0].length > 15) return `a list of ${lists[0].length}`;
  return lists[0].every(isFlat) ? undefined : 'an item that is no object of strings';
}

/** Takes the replies to these requests off; how many there were before the connection ended. */
function judge(requests: readonly Request[], bytes: Buffer): number {
  let at = 0;
  for (const [index, asked] of requests.entries()) {
    const fail = (what: string): never => {
      throw new Error(`${what}\nasked: ${JSON.stringify(asked)}\ngot: ${bytes.toString('latin1', at, at + 2000)}`);
    };
    if (at === bytes.length) return index;
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end === -1) fail('no end of the headers');
    const head = bytes.toString('latin1', at, end);
    const status = Number(/^HTTP\/1\.1 ([234]\d\d) \S/.exec(head)?.[1] ?? fail('an odd status'));
    const isBare = asked.method === 'HEAD' || status === 204 || status === 304;
    const length = isBare ? 0 : Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? fail('no content-length'));
    const text = bytes.toString('utf8', end + 4, end + 4 + length);
    // The pages and the description of the API are no data.
    const isData = status >= 400 || /^(http:\/\/x\.example)?\/[abc]\/api/.test(asked.path);
    if (!isBare && isData) {
      if (!head.includes('\r\ncontent-type: application/json; charset=utf-8')) fail('no JSON');
      const fault = faultOf(text);
      if (fault !== undefined) fail(fault);
    }
    at = end + 4 + length;
    if (/\r\nconnection: close/i.test(head) && at !== bytes.length) fail('more after the close');
  }
  if (at !== bytes.length) throw new Error(`more than was asked for: ${bytes.toString('latin1', at, at + 500)}`);
  return requests.length;
}

async function askAll(batch: readonly Request[]): Promise<void> {
  for (let rest = batch; rest.length > 0; ) {
    const text = rest.map((one, index) => written(one, index === rest.length - 1)).join('');
    const answered = judge(rest, await exchange(Buffer.from(text, 'latin1')));
    if (answered === 0) throw new Error(`no answer at all to ${JSON.stringify(rest[0])}`);
    rest = rest.slice(answered);
  }
}

const settings = { seed: SEED, endOnFailure: true };

describe('generated', () => {
  test(`${REQUESTS} requests`, async () => {
    const turn = fc.array(fc.array(request, { minLength: BATCH, maxLength: BATCH }), { minLength: AT_ONCE, maxLength: AT_ONCE });
    const property = fc.asyncProperty(turn, (batches) => Promise.all(batches.map(askAll)).then(() => {}));
    await fc.assert(property, { ...settings, numRuns: Math.ceil(REQUESTS / BATCH / AT_ONCE) });
  }, LIMIT);

  const LINES = ['GET /a/api/?user=ada HTTP/1.1', 'HEAD / HTTP/1.0', 'CONNECT x:1 HTTP/1.1', 'OPTIONS * HTTP/1.1', 'POST /b/api/username/ada HTTP/1.1', 'PRI * HTTP/2.0', ''];
  const FIELDS = ['Host: x', 'Host: y', 'Connection: keep-alive', 'Connection: Upgrade', 'Upgrade: h2c', 'Expect: 100-continue', 'Expect: x', 'Content-Length: 5', 'Content-Length: -1', 'Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked', ' folded', ': empty', 'X:'];
  const piece = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constantFrom(...LINES), fc.subarray(FIELDS)).map(([line, fields]) => Buffer.from(`${[line, ...fields].join('\r\n')}\r\n\r\n`)) },
    { weight: 1, arbitrary: fc.constantFrom('5\r\nhello\r\n0\r\n\r\n', 'ffffffffffffffff\r\n', '\r\n', '\n', '\0', 'GET ', 'HTTP/1.1').map((text) => Buffer.from(text)) },
    { weight: 2, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) },
  );
  const mutations = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 });
  const bytes = fc.tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), mutations).map(([pieces, changes]) => {
    const all = Buffer.concat(pieces);
    for (const [where, byte] of changes) if (all.length > 0) all[where % all.length] = byte;
    return all;
  });

  test(`${CONNECTIONS} connections of raw bytes`, async () => {
    const property = fc.asyncProperty(fc.array(bytes, { minLength: 20, maxLength: 20 }), async (many) => {
      await Promise.all(
        many.map(async (one) => {
          const text = (await exchange(one, true)).toString('latin1');
          if (!/^(HTTP\/1\.1 [1-4]\d\d |$)/.test(text) || /^HTTP\/1\.1 5\d\d /m.test(text))
            throw new Error(`sent ${JSON.stringify(one.toString('latin1'))}, got ${text}`);
          for (const [, body] of text.matchAll(/\r\n\r\n(\{"statusCode".*?\})/g)) expect(faultOf(body as string)).toBeUndefined();
        }),
      );
    });
    await fc.assert(property, { ...settings, numRuns: Math.ceil(CONNECTIONS / 20) });
  }, LIMIT);
});

test('after all this it serves as before, and has logged no fault', async () => {
  expect(server.child.exitCode).toBeNull();
  expect((await ask(server, '/a/api/?user=ada')).status).toBe(200);
  expect((await ask(server, '/readyz')).status).toBe(200);
  expect(linesOf(server).filter(({ level }) => level > 40)).toEqual([]);
});
