// Writes the stored answers of lookups; everything else is sent by fresh.ts.

import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Config } from '../../config/settings.ts';
import type { Answer } from '../../stores/reader.ts';
import { ANY, gzipEtag } from './conditions.ts';
import { type CacheSettings, caching, JSON_TYPE, jsonHeaders } from './headers.ts';
import type { Observer, Operation, ResponseEvent } from './observations.ts';

export interface AnswerWriter {
  /** The headers of all answers, as Node takes them: names and values in turn. */
  readonly common: readonly string[];
  readonly observe: Observer;
  /** Whether hooks of another app have their say: answers are sent by Fastify, which costs a quarter more. */
  readonly isPartOfApp?: boolean;
}

export function createAnswerWriter(
  config: CacheSettings & Pick<Config, 'corsOrigin'>,
  observe: Observer,
): AnswerWriter {
  const { corsOrigin } = config;
  const varies = corsOrigin === '*' || corsOrigin.length === 0 ? '' : ', Origin';
  const headers = {
    ...caching(config),
    vary: `Accept-Encoding${varies}`,
    ...jsonHeaders(corsOrigin),
  };
  return { common: Object.entries(headers).flat(), observe };
}

/**
 * 200 with the body, or 304 when the client has it already. The one way around Fastify's reply, and sent at the end of the
 * turn of the event loop: lists of random users cost 37 to 40 µs so, 47 to 51 by `reply.send` at the end of the turn, and
 * 1.4 times as much if each is sent between the reads of others (least of interleaved rounds on a quiet machine).
 */
export function writeAnswer(
  { common, observe }: AnswerWriter,
  response: ServerResponse,
  operation: Operation,
  { etag, body, isGzip = false }: Answer,
  known: string | undefined,
): void {
  const request = response.req;
  const headers = ['etag', isGzip ? gzipEtag(etag) : etag, ...common];
  const sent = known === ANY ? null : body;
  if (isGzip && sent !== null) headers.push('content-encoding', 'gzip');
  if (sent === null) response.writeHead(304, headers);
  else
    response.writeHead(200, ['content-type', JSON_TYPE, 'content-length', String(sent.length), ...headers]);
  const bytes = sent === null || request.method === 'HEAD' ? 0 : sent.length;
  const event: ResponseEvent = { type: 'response', request, operation, status: response.statusCode, bytes };
  setImmediate(end, response, sent, observe, event);
}

/** The same by Fastify's reply, for hooks of the app that this is a part of. */
export function replyAnswer(
  { common }: AnswerWriter,
  reply: FastifyReply,
  { etag, body, isGzip = false }: Answer,
  known: string | undefined,
): void {
  for (let at = 0; at < common.length; at += 2) reply.header(common[at] as string, common[at + 1]);
  reply.header('etag', isGzip ? gzipEtag(etag) : etag);
  if (body === null || known === ANY) return void reply.code(304).send();
  if (isGzip) reply.header('content-encoding', 'gzip');
  reply.type(JSON_TYPE).send(body);
}

/** Nothing is thrown where the client is gone: Node drops what is written then. */
function end(response: ServerResponse, body: Buffer | null, observe: Observer, event: ResponseEvent): void {
  response.end(body);
  observe(event);
}
