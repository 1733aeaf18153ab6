// Files held in memory: what their routes share, and assets that are made when they are first asked for.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type Headers, matches, NotModified, sendNotModified } from '../http/answer.ts';
import { errorResponses } from '../http/errors.ts';
import { PAGE } from '../http/observations.ts';
import { etagOf } from '../records/etag.ts';

export const HTML = 'text/html; charset=utf-8';
export const SCRIPT = 'text/javascript; charset=utf-8';
export const STYLE = 'text/css; charset=utf-8';
export const SVG = 'image/svg+xml';

/** Browsers revalidate each time, so a new version shows at once. */
export const EACH_TIME = 'no-cache';

export const GUARD = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };
export const SAME_ORIGIN = { 'cross-origin-resource-policy': 'same-origin' };
export const CROSS_ORIGIN = { 'cross-origin-resource-policy': 'cross-origin' };

export const typed = (type: string, caching: string): Headers => ({
  'content-type': type,
  'cache-control': caching,
});

/** The options of a route that sends a file. */
export const fileRoute = {
  config: { operation: PAGE },
  schema: {
    hide: true,
    response: { 200: Type.String(), 304: NotModified, ...errorResponses('ROUTE_NOT_FOUND') },
  },
};

/** A body that does not change while the server runs, with its headers. */
export interface Asset {
  readonly body: Buffer;
  readonly headers: Headers;
}

export function createAsset(content: Buffer | string, headers: Headers): Asset {
  const body = Buffer.from(content);
  return { body, headers: { etag: etagOf(body), ...headers } };
}

export function sendAsset(reply: FastifyReply, { body, headers }: Asset): FastifyReply {
  const { 'content-type': type = '', ...others } = headers;
  if (matches(reply.request.headers['if-none-match'], headers.etag as string))
    return sendNotModified(reply, others);
  return reply.headers(others).type(type).send(body);
}

/** Serves one file. No start waits for its content. */
export function serveFile(
  app: FastifyInstance,
  url: string,
  content: () => Buffer | string,
  headers: Headers,
): void {
  const asset = memoize(() => createAsset(content(), { ...GUARD, ...headers }));
  app.get(url, fileRoute, (_request, reply) => void sendAsset(reply, asset(url)));
}

/** Creates each asset when it is first asked for, and only once. */
export function memoize(create: (name: string) => Asset): (name: string) => Asset {
  const created = new Map<string, Asset>();
  return (name) => {
    const known = created.get(name);
    if (known !== undefined) return known;
    const asset = create(name);
    created.set(name, asset);
    return asset;
  };
}
