// Sends the stored answers of lookups: 200 with the body, or 304 if the client has it.

import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Config } from '../../config/settings.ts';
import type { Answer } from '../../stores/reader.ts';
import { ANY, gzipEtag } from './conditions.ts';
import { noBody } from './fresh.ts';
import {
  addMissing,
  addVary,
  type CacheSettings,
  caching,
  type Headers,
  JSON_TYPE,
  jsonHeaders,
} from './headers.ts';
import type { Observer, Operation, ResponseEvent } from './observations.ts';

export type SendAnswer = (
  reply: FastifyReply,
  operation: Operation,
  answer: Answer,
  /** The ETags that the client has, or any. */
  known: string | undefined,
) => void;

type AnswerConfig = CacheSettings & Pick<Config, 'corsOrigin'>;

/**
 * The sender of the server. It is the one way around Fastify's reply, and sends at the end of the turn of the event loop.
 * A list of a random user then costs 37 to 40 µs. With `reply.send` at the end of the turn it costs 47 to 51, and sent between
 * the reads of others 1.4 times as much (least of interleaved rounds on a quiet machine).
 */
export function createAnswerWriter(config: AnswerConfig, observe: Observer): SendAnswer {
  /** As Node takes them: names and values in turn. */
  const common = Object.entries({ ...caching(config), ...jsonHeaders(config.corsOrigin) }).flat();

  return function writeAnswer(reply, operation, { etag, body, isGzip = false }, known) {
    const response = reply.raw;
    const request = response.req;
    const headers = ['etag', isGzip ? gzipEtag(etag) : etag, ...common];
    // Those that hooks have set.
    const given = reply.getHeaders();
    given.vary = given.vary === undefined ? 'Accept-Encoding' : `${given.vary}, Accept-Encoding`;
    for (const name in given) headers.push(name, String(given[name]));
    const sent = known === ANY ? null : body;
    if (isGzip && sent !== null) headers.push('content-encoding', 'gzip');
    if (sent === null) response.writeHead(304, headers);
    else
      response.writeHead(200, ['content-type', JSON_TYPE, 'content-length', String(sent.length), ...headers]);
    const bytes = sent === null || request.method === 'HEAD' ? 0 : sent.length;
    const event: ResponseEvent = { type: 'response', request, operation, status: response.statusCode, bytes };
    setImmediate(end, response, sent, observe, event);
    // Not before: what throws here, such as a damaged ETag, is answered by Fastify.
    reply.hijack();
  };
}

/** Nothing is thrown where the client is gone: Node drops what is written then. */
function end(response: ServerResponse, body: Buffer | null, observe: Observer, event: ResponseEvent): void {
  response.end(body);
  observe(event);
}

/**
 * The sender of the plugin: hooks of the app see each answer, and the headers that they have set stay. The common headers may
 * change until the app is ready.
 */
export function createAnswerReplier(config: CacheSettings, common: Headers): SendAnswer {
  return function replyAnswer(reply, _operation, { etag, body, isGzip = false }, known) {
    addMissing(reply, { ...caching(config), ...common });
    addVary(reply, 'Accept-Encoding');
    reply.header('etag', isGzip ? gzipEtag(etag) : etag);
    if (body === null || known === ANY) return void reply.code(304).send(noBody(reply));
    if (isGzip) reply.header('content-encoding', 'gzip');
    reply.type(JSON_TYPE).send(body);
  };
}
