// What an answer looks like on the wire: its headers, 304 for a client that has it, gzip for one that takes it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Config } from '../config/config.ts';
import type { Answer } from '../stores/reader.ts';
import type { Observer, Operation, ResponseEvent } from './observations.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';
export const METHODS = 'GET, HEAD, OPTIONS';
/** An unknown user may appear with the next import, so a 404 or 410 is kept for seconds only. */
export const NOT_FOUND_CACHING = 'max-age=5';
const EXPOSED = 'ETag, RateLimit, RateLimit-Policy, Retry-After';

/** How long caches may keep what was found. With tags, CDN-Cache-Control is only for what has one: see user-tags.ts. */
export function caching(config: CacheSettings): Headers {
  const hasTags = config.cacheTagHeader !== undefined || config.purge.length > 0;
  return { 'cache-control': config.cacheControl, ...(!hasTags && targeted(config)) };
}

/** CDNs follow it instead of Cache-Control (RFC 9213). */
export const targeted = ({ cdnCacheControl }: CacheSettings): Headers =>
  cdnCacheControl === undefined ? {} : { 'cdn-cache-control': cdnCacheControl };

/** The headers by which caches keep an answer for longer than Cache-Control says. */
export const LASTING = ['cdn-cache-control', 'x-accel-expires'] as const;

/** For what has more addresses than a shared cache should keep copies of. Browsers ask each time whether theirs is current. */
export const UNSHARED: Headers = { 'cache-control': 'private, no-cache' };

export type CacheSettings = Pick<Config, 'cacheControl' | 'cdnCacheControl' | 'cacheTagHeader' | 'purge'>;

/** For answers that are data and never a document. */
const DATA_ONLY = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'cross-origin',
  'referrer-policy': 'no-referrer',
};

export type Headers = Record<string, string>;

/** Of every response with data. With a list of origins, who may read depends on the request: see edge/cors.ts. */
export function jsonHeaders(corsOrigin: '*' | readonly string[]): Headers {
  return { ...(corsOrigin === '*' && anyOrigin()), ...DATA_ONLY };
}

const anyOrigin = () => ({ 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED });

export const oneOrigin = (origin: string): Headers => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': EXPOSED,
});

export function setHeaders(response: ServerResponse, headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

/** Adds headers to every reply of this context that does not set them itself. */
export function addHeaders(app: FastifyInstance, headers: Headers): void {
  app.addHook('onSend', (_request, reply, _payload, done) => {
    for (const [name, value] of Object.entries(headers))
      if (!reply.hasHeader(name)) reply.header(name, value);
    done();
  });
}

/** For files that a browser may open by themselves: they load nothing and run nothing. */
export const INERT = { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox" };

export type WriteAnswer = ReturnType<typeof createAnswerWriter>;

/**
 * Writes stored bytes straight to the response: the one way around Fastify's reply. `reply.headers().send()` with its hooks
 * would cost 3 to 4 µs of a lookup's 23. The responses of one turn of the event loop are sent at its end: sent one by one
 * between the reads, a lookup costs 1.4 to 1.9 × as much (npm run bench).
 */
export function createAnswerWriter(config: CacheSettings & Pick<Config, 'corsOrigin'>, observe: Observer) {
  const common = Object.entries({
    ...caching(config),
    vary:
      config.corsOrigin === '*' || config.corsOrigin.length === 0
        ? 'Accept-Encoding'
        : 'Accept-Encoding, Origin',
    ...jsonHeaders(config.corsOrigin),
  }).flat();

  /** Nothing is thrown where the client is gone: Node drops what is written then. */
  function end(response: ServerResponse, event: ResponseEvent, body?: Buffer): void {
    response.end(body);
    observe(event);
  }

  function send(response: ServerResponse, event: ResponseEvent, body?: Buffer): void {
    // A response behind another of its connection is not sent yet, but its bytes must count: Node then reads no further.
    if (response.socket === null) end(response, event, body);
    else setImmediate(end, response, event, body);
  }

  /** 200 with the body, or 304 when the client has it already. */
  return function writeAnswer(
    request: IncomingMessage,
    response: ServerResponse,
    operation: Operation,
    { etag, body, isGzip = false }: Answer,
    known: string | undefined,
  ): void {
    const headers = ['etag', isGzip ? gzipEtag(etag) : etag, ...common];
    if (body === null || known === ANY) {
      response.writeHead(304, headers);
      send(response, { type: 'response', request, operation, status: 304, bytes: 0 });
      return;
    }
    if (isGzip) headers.push('content-encoding', 'gzip');
    response.writeHead(200, ['content-type', JSON_TYPE, 'content-length', String(body.length), ...headers]);
    const event = { type: 'response', request, operation, status: 200, bytes: body.length } as const;
    send(response, event, body);
  };
}

/** The response schema of 304. */
export const NotModified = Type.Null({ description: 'Nothing has changed since; there is no body.' });

/** Without a body and its type: a cache takes the headers over for what it has. */
export const sendNotModified = (
  reply: FastifyReply,
  { 'content-type': _, ...headers }: Headers,
): FastifyReply => reply.headers(headers).code(304).send();

/** What `render` makes, or 304 for a client that has it, for which nothing is rendered. */
export function sendRendered(
  reply: FastifyReply,
  headers: Headers & { etag: string },
  render: () => string,
): FastifyReply {
  if (matches(reply.request.headers['if-none-match'], headers.etag)) return sendNotModified(reply, headers);
  return reply.headers(headers).send(render());
}

// If-None-Match (RFC 9110, 13.1.2): lists, `*`, weak comparison. Anything that is not an entity tag is ignored.
const ENTITY_TAG = /\s*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)|[^,]*(?:,|$)/g;
const ANY = '*';

/**
 * The ETags that a client has, or `*`. That of a compressed form stands for the plain one: a client that has either has the
 * data, and a proxy that compresses may have changed the ending. The 304 names the ETag of the form that a 200 to this
 * request would have (RFC 9110, 15.4.5).
 */
export function knownEtags(ifNoneMatch: string | undefined): string | undefined {
  if (ifNoneMatch === undefined) return undefined;
  if (ifNoneMatch.trim() === ANY) return ANY;
  const tags = [...ifNoneMatch.matchAll(ENTITY_TAG)].map(([, tag = '']) => tag);
  return tags.join(',').replaceAll(SUFFIX, '"');
}

/** Whether the client already has the representation with this ETag. */
export function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = knownEtags(ifNoneMatch);
  return known === ANY || (known?.includes(etag) ?? false);
}

// Accept-Encoding (RFC 9110, 12.5.3), and the ETags of a body and of its compressed form.

/** The weight of a coding; 0 refuses it, and so does what is no weight: every client takes the plain body. */
function readWeight(header: string, coding: string): number | undefined {
  const named = new RegExp(`(?:^|,)\\s*${coding}\\s*(?:;[^,]*?\\bq=([^,;]*))?(?:,|;|$)`, 'i').exec(header);
  if (named === null) return undefined;
  const [, weight = '1'] = named;
  return /^\s*(0(\.\d{0,3})?|1(\.0{0,3})?)\s*$/.test(weight) ? Number(weight) : 0;
}

function decide(header: string): boolean {
  const gzip = readWeight(header, '(?:x-)?gzip') ?? readWeight(header, '\\*');
  const identity = readWeight(header, 'identity');
  // Where nothing is said of the plain body, it is the last choice.
  return gzip === undefined ? identity === 0 : gzip > 0 && gzip >= (identity ?? 0);
}

/** What browsers send. */
const PLAIN_GZIP = /^gzip(?:, *[\w-]+)*$/;

/** Whether to send gzip. A client that says nothing gets the plain body. */
export const acceptsGzip = (header: string | undefined): boolean =>
  header !== undefined && (PLAIN_GZIP.test(header) || decide(header));

const SUFFIX = '-gzip"';

/** The ETag of the compressed form. */
export const gzipEtag = (etag: string) => etag.slice(0, -1) + SUFFIX;
