// What the routes of files share: a schema, and assets that are made when they are first asked for.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { errorResponses } from '../http/errors.ts';
import type { Headers } from '../http/headers.ts';
import { PAGE } from '../http/observations.ts';
import { type Asset, createAsset, sendAsset } from '../http/replies.ts';
import { NotModified } from './lookup.ts';

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

/** Serves one file. No start waits for its content. */
export function serveFile(
  app: FastifyInstance,
  url: string,
  content: () => Buffer | string,
  headers: Headers,
): void {
  const asset = once(() => createAsset(content(), { ...GUARD, ...headers }));
  app.get(url, fileRoute, (_request, reply) => void sendAsset(reply, asset(url)));
}

/** Creates each asset when it is first asked for, and only once. */
export function once(create: (name: string) => Asset): (name: string) => Asset {
  const created = new Map<string, Asset>();
  return (name) => {
    const known = created.get(name);
    if (known !== undefined) return known;
    const asset = create(name);
    created.set(name, asset);
    return asset;
  };
}
