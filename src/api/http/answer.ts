// An answer on the wire: 304 for a client that has it, gzip for one that takes it, and the writer of stored answers.
import type { ServerResponse } from 'node:http';
import { Type } from '@sinclair/typebox';
import type { FastifyReply } from 'fastify';
import type { Config } from '../../config/settings.ts';
import type { Answer } from '../../stores/reader.ts';
import { type CacheSettings, caching, type Headers, JSON_TYPE, jsonHeaders } from './headers.ts';
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

export const NotModified = Type.Null({ description: 'Nothing has changed since; there is no body.' });

/** Without a body and its type: a cache takes the headers over for what it has. */
export const sendNotModified = (
  reply: FastifyReply,
  { 'content-type': _, ...headers }: Headers,
): FastifyReply => reply.headers(headers).code(304).send();

/** What `render` makes, or 304 for a client that has it, for which nothing is rendered. */
export function sendRendered(
  reply: FastifyReply,
  headers: Headers & { etag: string },
  render: () => string,
): FastifyReply {
  if (matches(reply.request.headers['if-none-match'], headers.etag)) return sendNotModified(reply, headers);
  // As bytes: Node takes several times as long to write a string of 20 KB.
  return reply.headers(headers).send(Buffer.from(render()));
}

// If-None-Match (RFC 9110, 13.1.2): lists, `*`, weak comparison. Anything that is not an entity tag is ignored.
const ENTITY_TAG = /\s*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)|[^,]*(?:,|$)/g;
const ANY = '*';
/** Those behind them are not looked at: a header of 15,000 commas would cost as much as 200 lookups. */
const MOST_TAGS = 100;

/**
 * The ETags that a client has, or `*`. That of a compressed form stands for the plain one: a client that has either has the
 * data, and a proxy that compresses may have changed the ending. The 304 names the ETag of the form that a 200 to this
 * request would have (RFC 9110, 15.4.5).
 */
export function knownEtags(ifNoneMatch: string | undefined): string | undefined {
  if (ifNoneMatch === undefined) return undefined;
  if (ifNoneMatch.trim() === ANY) return ANY;
  const tags = ifNoneMatch.matchAll(ENTITY_TAG).take(MOST_TAGS);
  return [...tags.map(([, tag = '']) => tag)].join(',').replaceAll(SUFFIX, '"');
}

export function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = knownEtags(ifNoneMatch);
  return known === ANY || (known?.includes(etag) ?? false);
}

// Accept-Encoding (RFC 9110, 12.5.3), and the ETags of a body and of its compressed form.

/** The weight of a coding; 0 refuses it, and so does what is no weight: every client takes the plain body. */
function readWeight(header: string, coding: string): number | undefined {
  const found = new RegExp(`(?:^|,)\\s*${coding}\\s*(?:;[^,]*?\\bq=([^,;]*))?(?:,|;|$)`, 'i').exec(header);
  if (found === null) return undefined;
  const [, weight = '1'] = found;
  return /^\s*(0(\.\d{0,3})?|1(\.0{0,3})?)\s*$/.test(weight) ? Number(weight) : 0;
}

/** Whether to send gzip. A client that says nothing gets the plain body. */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  const gzip = readWeight(header, '(?:x-)?gzip') ?? readWeight(header, '\\*');
  const identity = readWeight(header, 'identity');
  // Where nothing is said of the plain body, it is the last choice.
  return gzip === undefined ? identity === 0 : gzip > 0 && gzip >= (identity ?? 0);
}

const SUFFIX = '-gzip"';

export const gzipEtag = (etag: string) => etag.slice(0, -1) + SUFFIX;
