// HTTP/1.1 requests, right and wrong, as bytes, with the statuses that RFC 9110 and RFC 9112 allow us to answer. The
// choice of cases follows the RFC's sections and the situations that HTTP parsers are known to disagree about.

export interface HttpCase {
  readonly name: string;
  readonly bytes: string;
  readonly statuses: readonly number[];
  /** Whether the connection stays open for the next request. */
  readonly open: boolean;
}

const ADA = '/a/api/?user=ada';
const HOST = 'Host: x';

/** A request from its first line and its header lines; bodies are appended to it. */
const request = (line: string, ...fields: string[]) => [line, ...fields, '', ''].join('\r\n');
const get = (...fields: string[]) => request(`GET ${ADA} HTTP/1.1`, HOST, ...fields);
const target = (path: string) => request(`GET ${path} HTTP/1.1`, HOST);
const chunked = (body: string) => get('Transfer-Encoding: chunked') + body;

type Row = readonly [name: string, bytes: string, ...statuses: number[]];

/** Answered, and the connection goes on. */
const GOES_ON: readonly Row[] = [
  ['GET', get(), 200],
  ['HEAD', request(`HEAD ${ADA} HTTP/1.1`, HOST), 200],
  ['OPTIONS of an address', request(`OPTIONS ${ADA} HTTP/1.1`, HOST), 204],
  ['asterisk-form', request('OPTIONS * HTTP/1.1', HOST), 204],
  ['POST without a body', request(`POST ${ADA} HTTP/1.1`, HOST), 405],
  ['a method with a dash', request(`M-SEARCH ${ADA} HTTP/1.1`, HOST), 405],
  ['absolute-form', target(`http://x${ADA}`), 200],
  ['absolute-form of another host than Host', target(`http://other.example${ADA}`), 200],
  ['absolute-form without a path', target('http://x'), 200],
  ['absolute-form of an unknown address', target('http://x/nothing'), 404],
  ['absolute-form with a port', target(`http://x:8080${ADA}`), 200],
  ['an unknown address', target('/nowhere'), 404],
  ['two slashes', target(`/${ADA}`), 404],
  ['an empty query', target('/a/api?'), 400],
  ['a broken escape', target('/b/api/username/%zz'), 400],
  ['characters that only careless clients send', target('/b/api/username/"<>\\^`{|}'), 404],
  // RFC 9112 (2.2 and 3) lets a server be lenient here.
  ['two spaces before the version', target(`${ADA} `), 200],
  ['one empty line before the request line', `\r\n${get()}`, 200],
  ['an empty Host', request(`GET ${ADA} HTTP/1.1`, 'Host:'), 200],
  ['an IPv6 address as Host', request(`GET ${ADA} HTTP/1.1`, 'Host: [::1]:8080'), 200],
  ['obs-text in a value', get('X: \xe9\xff'), 200],
  ['100 headers', get(...Array.from({ length: 99 }, (_, i) => `X${i}: y`)), 200],
  ['a header of 8,000 bytes', get(`X: ${'x'.repeat(8000)}`), 200],
  ['Content-Length: 0', get('Content-Length: 0'), 200],
  ['Connection with an unknown option', get('Connection: x-option'), 200],
  ['HTTP/1.0 with keep-alive', request(`GET ${ADA} HTTP/1.0`, 'Connection: keep-alive'), 200],
  [
    'a pipeline of three',
    get() + target('/b/api/username/nobody') + target('/c/api/username/ada'),
    200,
    404,
    200,
  ],
  ['a pipeline of three alike', get().repeat(3), 200, 200, 200],
  ['a pipeline with empty lines between', `${get()}\r\n${get()}`, 200, 200],
  // A small body is read and dropped.
  ['Content-Length and a body', `${get('Content-Length: 5')}hello`, 200],
  ['a body that looks like a request', `${get('Content-Length: 18')}GET / HTTP/1.1\r\n\r\n`, 200],
  ['HEAD with a body', `${request(`HEAD ${ADA} HTTP/1.1`, HOST, 'Content-Length: 5')}hello`, 200],
  ['POST with a body', `${request(`POST ${ADA} HTTP/1.1`, HOST, 'Content-Length: 5')}hello`, 405],
  ['a body of 16,384 bytes', get('Content-Length: 16384') + 'x'.repeat(16_384), 200],
  [
    'an address with a broken escape and a body',
    `${request('GET /b/api/username/%zz HTTP/1.1', HOST, 'Content-Length: 2')}{}`,
    400,
  ],
  ['a pipeline with small bodies', `${get('Content-Length: 2')}{}`.repeat(3), 200, 200, 200],
  ['HEAD before GET', request(`HEAD ${ADA} HTTP/1.1`, HOST) + get(), 200, 200],
  ['304 before 200', get('If-None-Match: *') + get(), 304, 200],
];

/** Answered for the last time: what follows is not read as a request. */
const ENDS: readonly Row[] = [
  ['Upgrade to WebSocket', get('Connection: Upgrade', 'Upgrade: websocket'), 200],
  ['Upgrade with a body', `${get('Connection: Upgrade', 'Upgrade: x', 'Content-Length: 2')}{}`, 200],
  ['Upgrade before another request', get('Connection: Upgrade', 'Upgrade: x') + get(), 200],
  // A body that is large, or of which no length is known, is not read.
  ['a body of 16,385 bytes', get('Content-Length: 16385') + 'x'.repeat(16_385), 200],
  ['a large body behind another request', `${get()}${get('Content-Length: 99999')}${get()}`, 200, 200],
  ['two chunks', chunked('5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n'), 200],
  ['trailers', chunked('5\r\nhello\r\n0\r\nX: y\r\nZ: z\r\n\r\n'), 200],
  ['gzip, chunked', `${get('Transfer-Encoding: gzip, chunked')}1\r\nx\r\n0\r\n\r\n`, 200],
  ['a pipeline with a body', `${get()}${chunked('1\r\nx\r\n0\r\n\r\n')}${get()}`, 200, 200],
  // The request line.
  ['CONNECT', request('CONNECT x:80 HTTP/1.1', HOST), 405],
  ['an address that is a word', target('a/api?user=ada'), 400],
  ['an empty address', target(''), 400],
  ['a space in an address', target('/b/api/username/a b'), 400],
  ['a zero byte in an address', target('/b/api/username/a\0b'), 400],
  ['letters outside ASCII in an address', target('/b/api/username/\xe9'), 400],
  ['DEL in an address', target('/b/api/username/a\x7fb'), 400],
  ['a space before the method', ` ${get()}`, 400],
  ['tabs as separators', request(`GET\t${ADA}\tHTTP/1.1`, HOST), 400],
  ['a space after the version', request(`GET ${ADA} HTTP/1.1 `, HOST), 400],
  ['no version', request(`GET ${ADA}`, HOST), 400],
  ['a lower-case version', request(`GET ${ADA} http/1.1`, HOST), 400],
  ['HTTP/0.9', request(`GET ${ADA} HTTP/0.9`, HOST), 400],
  ['HTTP/1.2', request(`GET ${ADA} HTTP/1.2`, HOST), 400],
  ['HTTP/2.0', request(`GET ${ADA} HTTP/2.0`, HOST), 400],
  ['HTTP/1.10', request(`GET ${ADA} HTTP/1.10`, HOST), 400],
  ['HTTP/1', request(`GET ${ADA} HTTP/1`, HOST), 400],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
  ['a lower-case method', request(`get ${ADA} HTTP/1.1`, HOST), 400],
  ['an unknown method', request(`FETCH ${ADA} HTTP/1.1`, HOST), 400],
  ['a method that only begins like one', request(`GETS ${ADA} HTTP/1.1`, HOST), 400],
  ['a line feed alone ends the request line', `GET ${ADA} HTTP/1.1\n${HOST}\r\n\r\n`, 400],
  ['a carriage return alone ends the request line', `GET ${ADA} HTTP/1.1\r${HOST}\r\n\r\n`, 400],
  ['line feeds only', get().replaceAll('\r', ''), 400],
  // The host.
  ['no Host', request(`GET ${ADA} HTTP/1.1`), 400],
  ['Host twice', get(HOST), 400],
  ['Host twice, not the same', get('Host: y'), 400],
  ['Host twice in HTTP/1.0', request(`GET ${ADA} HTTP/1.0`, HOST, HOST), 400],
  ['Host twice with absolute-form', request(`GET http://x${ADA} HTTP/1.1`, HOST, HOST), 400],
  ['a space in Host', request(`GET ${ADA} HTTP/1.1`, 'Host: a b'), 400],
  ['a path in Host', request(`GET ${ADA} HTTP/1.1`, 'Host: x/y'), 400],
  ['a user in Host', request(`GET ${ADA} HTTP/1.1`, 'Host: u@x'), 400],
  ['two names in Host', request(`GET ${ADA} HTTP/1.1`, 'Host: x, y'), 400],
  ['a port of letters', request(`GET ${ADA} HTTP/1.1`, 'Host: x:port'), 400],
  ['absolute-form without a host', request(`GET http:///a/api/?user=ada HTTP/1.1`, HOST), 400],
  ['absolute-form with a user', request(`GET http://u@x${ADA} HTTP/1.1`, HOST), 400],
  ['absolute-form of another scheme', target('ftp://x/'), 400],
  ['authority-form without CONNECT', target('x:80'), 400],
  ['asterisk-form without OPTIONS', target('*'), 400],
  ['a query alone', target('?user=ada'), 400],
  // The headers.
  ['a folded header', get('X: a', ' b'), 400],
  ['a header folded with a tab', get('X: a', '\tb'), 400],
  ['a blank before the first header', request(`GET ${ADA} HTTP/1.1`, ` ${HOST}`, HOST), 400],
  ['a blank before the colon', get('X : y'), 400],
  ['no colon', get('X'), 400],
  ['a name with a character that no token has', get('X(Y): z'), 400],
  ['a zero byte in a value', get('X: a\0b'), 400],
  ['a control character in a value', get('X: a\x01b'), 400],
  ['a carriage return in a value', get('X: a\rb'), 400],
  ['a line feed in a value that could be a header', get('X: a\nY: b'), 400],
  ['101 headers', get(...Array.from({ length: 100 }, (_, i) => `X${i}: y`)), 431],
  ['5,000 headers', get(...Array<string>(5000).fill('X: y')), 431],
  ['headers of 70,000 bytes', get(`X: ${'x'.repeat(70_000)}`), 431],
  // The length of the body.
  ['Content-Length: +5', `${get('Content-Length: +5')}hello`, 400],
  ['Content-Length: -5', `${get('Content-Length: -5')}hello`, 400],
  ['Content-Length: 2^64', get('Content-Length: 18446744073709551616'), 400],
  ['Content-Length twice', `${get('Content-Length: 5', 'Content-Length: 5')}hello`, 400],
  ['Content-Length twice, not the same', `${get('Content-Length: 5', 'Content-Length: 6')}hello`, 400],
  [
    'Content-Length and Transfer-Encoding',
    `${get('Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    400,
  ],
  [
    'Transfer-Encoding and Content-Length',
    `${get('Transfer-Encoding: chunked', 'Content-Length: 5')}0\r\n\r\n`,
    400,
  ],
  ['chunked, gzip', `${get('Transfer-Encoding: chunked, gzip')}0\r\n\r\n`, 400],
  ['identity', get('Transfer-Encoding: identity'), 400],
  ['an unknown transfer encoding', `${get('Transfer-Encoding: xchunked')}0\r\n\r\n`, 400],
  ['a transfer encoding after a vertical tab', `${get('Transfer-Encoding: \vchunked')}0\r\n\r\n`, 400],
  // A body that is wrong after its request was answered.
  ['a chunk size of no digits', chunked('g\r\nhello\r\n0\r\n\r\n'), 200],
  ['a chunk longer than its size', chunked('4\r\nhello\r\n0\r\n\r\n'), 200],
  ['a carriage return in a chunk extension', chunked('5;a\rb\r\nhello\r\n0\r\n\r\n'), 200],
  // The connection.
  ['Upgrade to WebSocket', get('Connection: Upgrade, close', 'Upgrade: websocket'), 200],
  [
    'Upgrade to HTTP/2',
    get('Connection: Upgrade, HTTP2-Settings, close', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'),
    200,
  ],
  ['Expect behind another request', get() + get('Expect: 100-continue') + get(), 200, 200],
  ['an expectation that is not met', get('Expect: the-unexpected'), 417],
  ['Expect: 100-continue with a body', `${get('Expect: 100-continue', 'Content-Length: 5')}hello`, 200],
  ['Expect: 100-continue without a body', get('Expect: 100-continue'), 200],
  ['an address of 9,000 bytes', target(`/${'x'.repeat(9000)}`), 414],
  ['HTTP/1.0', request(`GET ${ADA} HTTP/1.0`), 200],
  ['HTTP/1.0 with Host', request(`GET ${ADA} HTTP/1.0`, HOST), 200],
  ['Connection: close', get('Connection: close'), 200],
  ['nothing is answered after Connection: close', get() + get('Connection: close') + get(), 200, 200],
  ['a good request before a bad one', `${get()}rubbish\r\n\r\n`, 200, 400],
  ['a request that is answered later before a bad one', `${target('/readyz')}rubbish\r\n\r\n`, 200, 400],
  ['three good requests before a bad one', `${get().repeat(3)}${get('X : y')}`, 200, 200, 200, 400],
  ['a good request before CONNECT', get() + request('CONNECT x:80 HTTP/1.1', HOST), 200, 405],
];

const casesOf = (rows: readonly Row[], open: boolean) =>
  rows.map(([name, bytes, ...statuses]): HttpCase => ({ name, bytes, statuses, open }));

export const HTTP_CASES: readonly HttpCase[] = [...casesOf(GOES_ON, true), ...casesOf(ENDS, false)];

/** What it gets when the client closes its side afterwards. */
const HALF_CLOSED: readonly Row[] = [
  ['nothing', ''],
  ['a method', 'GET ', 400],
  ['half a request line', `GET ${ADA}`, 400],
  ['half the headers', `GET ${ADA} HTTP/1.1\r\nHost: x\r\nX: `, 400],
  ['no empty line', `GET ${ADA} HTTP/1.1\r\nHost: x\r\n`, 400],
  ['half a body', `${get('Content-Length: 5')}he`, 200],
  ['no last chunk', chunked('5\r\nhello\r\n'), 200],
  ['a whole request', get(), 200],
  ['a whole request, then half of one', `${get()}GET /a`, 200, 400],
];

export const UNFINISHED: readonly HttpCase[] = casesOf(HALF_CLOSED, false);
