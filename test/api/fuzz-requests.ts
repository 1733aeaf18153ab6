// Generators of the fuzz tests: well-formed requests of every kind, and mutated bytes.
import { METHODS } from 'node:http';
import fc from 'fast-check';

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: [name: string, value: string][];
  readonly body: string;
}

const oneOf = (texts: string, ...more: string[]) => fc.constantFrom(...texts.split(' '), ...more);
const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });

/** Every character that a request target may contain. */
const TARGET = Array.from({ length: 94 }, (_, code) => String.fromCharCode(code + 33));
const ofTarget = (maxLength: number) => fc.string({ unit: fc.constantFrom(...TARGET), maxLength });
const percent = (byte: number) => `%${byte.toString(16).padStart(2, '0')}`;

const ODD_NAMES = '. .. % %zz %2 %00 %2f %ff __proto__ constructor shots';
const ODD_MEMBERS = 'post=true post post= post=1 user user= & = %75ser=ada __proto__=1 user[]=1 toString';
const ODD_PATHS = '/ /healthz /readyz /metrics /a /a/api /b/api/username // /%2e%2e/ * http://';
const HEADERS = [
  'If-None-Match If-Match If-Modified-Since Range Accept Accept-Encoding Origin Access-Control-Request-Method',
  'Access-Control-Request-Headers Authorization Cookie Referer User-Agent X-Forwarded-For X-Forwarded-Proto',
  'X-Request-Id X-HTTP-Method-Override Forwarded Upgrade TE Via Date Content-Type',
].join(' ');
const VALUES = '* "" W/"x" "a","b", bytes=0-1 bytes=- null gzip;q=0 websocket 127.0.0.1 DELETE';
// CONNECT ends HTTP on its connection, so only the raw bytes include it.
const OTHERS = METHODS.filter((method) => !['GET', 'CONNECT'].includes(method));

export function requestsFor(names: readonly string[]): fc.Arbitrary<Request> {
  const name = fc.oneof(
    often(4, fc.constantFrom(...names).map(encodeURIComponent)),
    often(
      2,
      fc.string({ unit: 'binary', maxLength: 12 }).map((text) => encodeURIComponent(text.toWellFormed())),
    ),
    often(2, ofTarget(10)),
    often(
      1,
      fc.uint8Array({ maxLength: 6 }).map((bytes) => [...bytes].map(percent).join('')),
    ),
    often(1, oneOf(ODD_NAMES, '', 'x'.repeat(256), '%F0%9F%98%80'.repeat(255))),
  );
  const member = fc.oneof(
    name.map((user) => `user=${user}`),
    oneOf(ODD_MEMBERS),
    ofTarget(12),
  );
  const ofA = fc.array(member, { maxLength: 4 }).map((members) => `/a/api/?${members.join('&')}`);
  const ofOthers = fc
    .tuple(oneOf('b c'), name, oneOf('/shots /shots/ / /x ?user=1', ''))
    .map(([variant, user, rest]) => `/${variant}/api/username/${user}${rest}`);
  const value = fc.oneof(
    oneOf(VALUES, 'x'.repeat(2000)),
    fc.string({ unit: fc.constantFrom(...TARGET, ' ', '\t', '\xe9', '\x9b'), maxLength: 24 }),
  );
  return fc.record({
    method: fc.oneof(often(3, fc.constant('GET')), often(1, fc.constantFrom(...OTHERS))),
    path: fc.oneof(
      often(3, ofA),
      often(3, ofOthers),
      often(
        1,
        ofTarget(24).map((rest) => `/${rest}`),
      ),
      often(
        1,
        ofTarget(16).map((rest) => `http://x.example/${rest}`),
      ),
      often(1, oneOf(ODD_PATHS, `/${'y'.repeat(9000)}`)),
    ),
    headers: fc.array(fc.tuple(oneOf(HEADERS), value), { maxLength: 3 }),
    body: fc.oneof(often(9, fc.constant('')), often(1, oneOf('{} x {"user":"ada"} <x/>'))),
  });
}

/** The bytes of a request; the last one asks the server to close the connection. */
export function written({ method, path, headers, body }: Request, last: boolean): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`;
  const close = last ? 'Connection: close\r\n' : '';
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\n${lines}${length}${close}\r\n${body}`;
}

const LINES = [
  ...['GET /a/api/?user=ada HTTP/1.1', 'HEAD / HTTP/1.0', 'CONNECT x:1 HTTP/1.1', 'OPTIONS * HTTP/1.1'],
  ...['POST /b/api/username/ada HTTP/1.1', 'PRI * HTTP/2.0', ''],
];
const FIELDS = [
  ...['Host: x', 'Host: y', 'Connection: keep-alive', 'Connection: Upgrade', 'Upgrade: h2c', ' folded', 'X:'],
  ...['Expect: 100-continue', 'Expect: x', 'Content-Length: 5', 'Content-Length: -1', ': empty'],
  ...['Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked'],
];
const SCRAPS = ['5\r\nhello\r\n0\r\n\r\n', 'ffffffffffffffff\r\n', '\r\n', '\n', '\0', 'GET ', 'HTTP/1.1'];

const piece = fc.oneof(
  often(
    4,
    fc
      .tuple(fc.constantFrom(...LINES), fc.subarray(FIELDS))
      .map(([line, fields]) => Buffer.from(`${[line, ...fields].join('\r\n')}\r\n\r\n`)),
  ),
  often(
    1,
    fc.constantFrom(...SCRAPS).map((text) => Buffer.from(text)),
  ),
  often(
    2,
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  ),
);

/** Fragments of requests and random bytes, with a few bytes changed. */
export const rawBytes: fc.Arbitrary<Buffer> = fc
  .tuple(
    fc.array(piece, { minLength: 1, maxLength: 4 }),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
  )
  .map(([pieces, changes]) => {
    const all = Buffer.concat(pieces);
    for (const [where, byte] of changes) if (all.length > 0) all[where % all.length] = byte;
    return all;
  });
