// Bodies that do not change while the server runs: made when they are first asked for, and compressed once.
import { gzipSync } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import { computeEtag } from '../../records/etag.ts';
import { type FreshHeaders, sendFresh } from './fresh.ts';
import { type Headers, isWorthCompressing } from './headers.ts';

/** A body that does not change while the server runs, with its headers. */
export interface Asset {
  readonly headers: FreshHeaders;
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

export const sendAsset = (reply: FastifyReply, { headers, body, packed }: Asset): FastifyReply =>
  sendFresh(reply, headers, { plain: () => body, gzip: packed && (() => packed) });

/** Creates each asset when it is first asked for, and only once. */
export function memoize<Name>(create: (name: Name) => Asset): (name: Name) => Asset {
  const created = new Map<Name, Asset>();
  return (name) => {
    const known = created.get(name);
    if (known !== undefined) return known;
    const asset = create(name);
    created.set(name, asset);
    return asset;
  };
}
