// What handlers send through Fastify's reply: errors, and files held in memory.
import type { FastifyReply } from 'fastify';
import { etagOf } from '../records/etag.ts';
import { matches } from './conditional.ts';
import { type ErrorCode, FAILURES } from './errors.ts';
import { type Headers, JSON_TYPE, METHODS, NOT_FOUND_CACHING } from './headers.ts';

export function sendFailure(reply: FastifyReply, code: ErrorCode): FastifyReply {
  const { status, body } = FAILURES[code];
  const isUnknown = status === 404 || status === 410;
  if (status === 405) reply.header('allow', METHODS);
  if (status === 503) reply.header('retry-after', '1');
  return reply
    .headers(reply.dataHeaders)
    .code(status)
    .type(JSON_TYPE)
    .header('cache-control', isUnknown ? NOT_FOUND_CACHING : 'no-store')
    .send(body);
}

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

/** Without a body, which Fastify would describe: a cache takes the headers over for what it has. */
export const sendNotModified = (reply: FastifyReply, headers: Headers): FastifyReply =>
  reply.headers(headers).code(304).send();

declare module 'fastify' {
  interface FastifyReply {
    /** The headers of responses that are data: see `jsonHeaders`. */
    readonly dataHeaders: Headers;
  }
}
