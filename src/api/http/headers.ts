// The sets of headers that answers share: how long caches keep them, and who may read them.

import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Config } from '../../config/settings.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';
export const METHODS = 'GET, HEAD, OPTIONS';
/**
 * An unknown user may appear with the next import, so a 404 or 410 is kept for seconds only. Varnish would serve it for 10 s
 * more, unless it is told otherwise.
 */
export const NOT_FOUND_CACHING = 'max-age=5, stale-while-revalidate=0';
/** The header in which a probe says how it was received: HTTP/1.0 from a proxy cannot be seen from outside. */
export const RECEIVED_OVER = 'x-received-over-http';
const EXPOSED = 'ETag, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id';

export const caching = ({ cacheControl }: CacheSettings): Headers => ({ 'cache-control': cacheControl });

/** The headers by which caches that are purged keep an answer for longer than Cache-Control says: see user-tags.ts. */
export const LONG_CACHING_HEADERS = ['cdn-cache-control', 'x-accel-expires'] as const;

/** For what has more addresses than a shared cache should keep copies of. Browsers ask each time whether theirs is current. */
export const PRIVATE: Headers = { 'cache-control': 'private, no-cache' };

export type CacheSettings = Pick<Config, 'cacheControl' | 'purge'>;

/** For answers that are data and never a document. */
const DATA_ONLY = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'cross-origin',
  'referrer-policy': 'no-referrer',
};

export type Headers = Record<string, string>;

/** Bytes of a body from which gzip saves anything worth a header. */
export const WORTH_COMPRESSING = 1024;

const COMPRESSED_ALREADY = /^image\/(?!svg)/;

export const isWorthCompressing = (body: Buffer, type = '') =>
  body.length > WORTH_COMPRESSING && !COMPRESSED_ALREADY.test(type);

/** Of every response with data. With a list of origins, who may read depends on the request: see server/edge/hooks.ts. */
export function jsonHeaders(corsOrigin: '*' | readonly string[]): Headers {
  return { ...(corsOrigin === '*' && oneOrigin('*')), ...DATA_ONLY };
}

export const oneOrigin = (origin: string): Headers => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': EXPOSED,
});

/** Adds headers to every reply of this context that does not set them itself. */
export function addHeaders(app: FastifyInstance, headers: Headers): void {
  app.addHook('onSend', (_request, reply, _payload, done) => {
    addMissing(reply, headers);
    done();
  });
}

export function addMissing(reply: FastifyReply, headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) if (!reply.hasHeader(name)) reply.header(name, value);
}

/** Adds a request header to those by which the response varies. */
export const addVary = (reply: FastifyReply, name: string): FastifyReply =>
  reply.header('vary', [reply.getHeader('vary'), name].filter(Boolean).join(', '));

/** For files that a browser may open by themselves: they load nothing and run nothing. */
export const INERT = { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox" };

/** For what has its hash in its name. */
export const A_YEAR = 'public, max-age=31536000, immutable';

/** Of copies of pictures: their names are hashes of their bytes. */
export const COPY_HEADERS: Headers = {
  'cache-control': A_YEAR,
  ...DATA_ONLY,
  ...INERT,
};
