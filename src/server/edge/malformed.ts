// Detects malformed requests: `requestFault` after parsing, `parserFault` when Node's parser fails.

import type { IncomingMessage } from 'node:http';
import type { ErrorCode } from '../../api/http/errors.ts';

/** Longer than any address that can be meant: a name of 255 characters takes 3,060 bytes at most. */
export const LONGEST_URL = 8 * 1024;

/** Why a request with readable headers must be refused; undefined when it may be routed. */
export function requestFault(request: IncomingMessage): ErrorCode | undefined {
  const { url = '' } = request;
  if (request.httpVersionMajor !== 1) return 'BAD_REQUEST';
  if (url.length > LONGEST_URL) return 'URI_TOO_LONG';
  const hosts = countHosts(request.rawHeaders);
  if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1')) return 'HOST_MISSING';
  const { host = '', 'transfer-encoding': coding } = request.headers;
  if (!HOST.test(host) || (coding !== undefined && !ENDS_CHUNKED.test(coding))) return 'BAD_REQUEST';
  if (request.method === 'CONNECT') return 'METHOD_NOT_ALLOWED';
  if (request.headers.expect !== undefined && expectsMore(request)) return 'EXPECTATION_FAILED';
  if (url === '*' && request.method === 'OPTIONS') return undefined;
  if (!url.startsWith('/') && !HOST.test(ABSOLUTE.exec(url)?.[1] ?? '/')) return 'BAD_REQUEST';
  return url.includes('%') && hasBrokenEscape(url) ? 'BAD_ESCAPE' : undefined;
}

/** RFC 9112 (3.2) wants anything but a name or an address and a port refused; RFC 3986 (3.2.2) says what they are. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/** HTTP/1.0 knows no expectations. */
const expectsMore = ({ headers: { expect }, httpVersion }: IncomingMessage) =>
  httpVersion === '1.1' && !/(?:^|\W)100-continue(?:$|\W)/i.test(expect ?? '');

/** Otherwise it is not known where the body ends, and RFC 9112 (6.3) wants the request refused. */
const ENDS_CHUNKED = /(?:^|[\s,])chunked$/i;

const ABSOLUTE = /^https?:\/\/([^/?#]+)([^#]*)/i;

/** Whether the path cannot be decoded; the query's members are looked at one by one. */
function hasBrokenEscape(url: string): boolean {
  try {
    decodeURIComponent(url.split('?', 1)[0] ?? '');
    return false;
  } catch {
    return true;
  }
}

/** The path to route by. An absolute target becomes its path, and its host is the one that counts (RFC 9112, 3.2.2). */
export function pathToRoute(request: IncomingMessage): string {
  const { url = '' } = request;
  const absolute = url.startsWith('/') ? null : ABSOLUTE.exec(url);
  if (absolute === null) return url;
  const [, host, target = ''] = absolute;
  request.headers.host = host;
  return target.startsWith('/') ? target : `/${target}`;
}

/** Node's `headers` keep the first Host only; RFC 9112 (3.2) wants a request with several refused. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === 'host') count++;
  return count;
}

export interface ParserError extends Error {
  readonly code: string;
  /** The last packet, and how much of it was parsed; there is none when time is up. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

export function parserFault({ code, rawPacket }: ParserError): ErrorCode {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'REQUEST_TIMEOUT';
  if (code !== 'HPE_HEADER_OVERFLOW')
    return rawPacket && PROXY_PROTOCOL.test(rawPacket.toString('latin1', 0, 12))
      ? 'PROXY_PROTOCOL'
      : 'BAD_REQUEST';
  return rawPacket && hasLongRequestLine(rawPacket) ? 'URI_TOO_LONG' : 'HEADERS_TOO_LARGE';
}

/** How its two versions begin. */
const PROXY_PROTOCOL = /^(?:PROXY |\r\n\r\n\0\r\nQUIT\n)/;

/** The limit of headers covers the request line as well; of what arrived, we are shown the last packet only. */
function hasLongRequestLine(packet: Buffer): boolean {
  const lineEnd = packet.indexOf('\n');
  return (lineEnd === -1 || lineEnd > LONGEST_URL) && /^\s*[A-Z-]+ \S/.test(packet.toString('latin1', 0, 40));
}

/** Whether the rejected request is HEAD and gets no body; not known if its first line came in an earlier packet. */
export function isHead({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  const parsed = rawPacket?.toString('latin1', 0, bytesParsed) ?? '';
  return /^\s*HEAD /.test(parsed.slice(parsed.lastIndexOf('\r\n\r\n') + 1));
}
