// Bodies that do not change while the server runs: made when they are first asked for, and compressed once.
import { gzipSync } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import { computeEtag } from '../../records/etag.ts';
import { acceptsGzip, gzipEtag, matches, sendNotModified } from './answer.ts';
import { type Headers, isWorthCompressing } from './headers.ts';

/** A body that does not change while the server runs, with its headers. */
export interface Asset {
  readonly headers: Headers & { readonly etag: string };
  readonly body: Buffer;
  /** The compressed body, where that saves anything worth a header. */
  readonly packed: Buffer | undefined;
}

export function createAsset(content: Buffer | string, headers: Headers): Asset {
  const body = Buffer.from(content);
  const isWorth = isWorthCompressing(body, headers['content-type']);
  const packed = isWorth ? gzipSync(body, { level: 9 }) : undefined;
  return { body, packed, headers: { ...headers, etag: computeEtag(body) } };
}

export function sendAsset(reply: FastifyReply, { body, packed, headers }: Asset): FastifyReply {
  const { 'if-none-match': known, 'accept-encoding': accepted } = reply.request.headers;
  const others: Headers = { ...headers };
  const isGzip = packed !== undefined && acceptsGzip(accepted);
  if (packed !== undefined) {
    // With a list of origins, it names Origin already.
    const vary = reply.raw.getHeader('vary');
    others.vary = vary === undefined ? 'Accept-Encoding' : `Accept-Encoding, ${vary}`;
  }
  if (isGzip) others.etag = gzipEtag(headers.etag);
  if (matches(known, headers.etag)) return sendNotModified(reply, others);
  if (isGzip) others['content-encoding'] = 'gzip';
  return reply.headers(others).send(isGzip ? packed : body);
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
