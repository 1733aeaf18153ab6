// A small server in place of Vitrine, which remembers what a proxy asks for. Answers of the API are compressed for those
// who accept it, with an ETag for each coding; everything else is sent as it is.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startSite } from '../../support/mirror-site.ts';

const BODY = JSON.stringify({
  Shots: Array.from({ length: 15 }, (_, nr) => ({ id: String(nr), text: 'word '.repeat(30) })),
});
const PACKED = gzipSync(BODY);
const TYPES: Record<string, string> = {
  '': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.atom': 'application/atom+xml; charset=utf-8',
  '.json': 'application/feed+json; charset=utf-8',
};

export async function startUpstream() {
  const requests: IncomingMessage[] = [];
  let held = false;
  const { url } = await startSite((request, response) => {
    if (request.url === '/readyz') return void response.end();
    requests.push(request);
    if (!held) answer(request, response);
  });
  return {
    port: Number(new URL(url).port),
    body: BODY,
    /** What it was asked for, without health checks. */
    requests,
    /** From now on nothing is answered. */
    hold() {
      held = true;
    },
  };
}

function answer({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
  const [path = ''] = url.split('?');
  response.setHeader('cache-control', 'public, max-age=60').setHeader('access-control-allow-origin', '*');
  if (!path.includes('/api/')) {
    response
      .setHeader('content-type', TYPES[extname(path)] ?? '')
      .setHeader('etag', '"page"')
      .end(BODY);
    return;
  }
  const packed = /\bgzip\b(?!;q=0(\.0*)?(,|$))/.test(String(headers['accept-encoding']));
  const etag = packed ? '"list-gzip"' : '"list"';
  const vary = headers.origin === undefined ? 'Accept-Encoding' : 'Accept-Encoding, Origin';
  response.setHeader('vary', vary).setHeader('etag', etag);
  response.setHeader('content-type', 'application/json; charset=utf-8');
  if (headers['if-none-match'] === etag) return void response.writeHead(304).end();
  if (packed) response.setHeader('content-encoding', 'gzip');
  response.end(packed ? PACKED : BODY);
}
