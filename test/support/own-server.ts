// The HTTP server of src/server/edge/ in front of a route of the tests.

import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readConfig } from '../../src/config/config.ts';
import { createHttpServer } from '../../src/server/edge/http-server.ts';
import { atEnd } from './at-end.ts';

/** Serves `/large` with 2 MB; `/last` says that it is the last answer, and `/late` comes when the client has ended its side. */
const serveSizes: RequestListener = ({ url, socket }, response) => {
  if (url === '/last') response.setHeader('connection', 'close');
  const body = Buffer.alloc(url === '/large' ? 2_000_000 : 300);
  if (url === '/late') socket.once('end', () => response.end(body));
  else response.end(body);
};

export async function startOwn(isDraining = false, settings = {}, route = serveSizes) {
  const own = createHttpServer(route, {
    config: readConfig(settings),
    observe() {},
    state: { isDraining },
  });
  await once(own.listen(0, '127.0.0.1'), 'listening');
  atEnd(() => own.close());
  return { ...(own.address() as AddressInfo), server: own };
}

/** Holds the requests that come until `answer` is called. */
export async function startHolding(settings = {}) {
  const requests: IncomingMessage[] = [];
  const responses: ServerResponse[] = [];
  const own = await startOwn(false, settings, (request, response) => {
    requests.push(request);
    responses.push(response);
  });
  const answer = () => {
    for (const response of responses.splice(0)) response.end('x');
  };
  return { own, requests, answer };
}
