// Sends single HTTP requests to one other server, limited in time and size. Redirects are not followed.
import { createHash } from 'node:crypto';
import {
  Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
} from 'node:http';
import { request as requestSecurely, Agent as SecureAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

export interface HttpRequest {
  readonly method?: 'GET' | 'HEAD' | 'OPTIONS';
  /** Path and query, sent exactly as written: nothing is normalised. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a body comes to when only its hash is wanted. */
export interface Digest {
  readonly sha256: string;
  readonly length: number;
}

export interface HttpResponse<Body = Buffer> {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Every value of a header, for headers that come more than once. */
  readonly all: (name: string) => string[];
  /** Decompressed if it came as gzip. */
  readonly body: Body;
}

export interface HttpClientOptions {
  /** Only scheme, host and port are used. */
  readonly origin: URL;
  /** Milliseconds for the whole exchange. */
  readonly timeout: number;
  /** The limit for a body, also after decompression. */
  readonly maxBytes: number;
  readonly connections: number;
  /** Resolves the host name; the address that it gives is the one that is used. */
  readonly lookup?: LookupFunction;
}

/** A request that got no complete response. */
export class RequestError extends Error {
  override name = 'RequestError';
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  constructor(message: string, retryable: boolean) {
    super(message);
    this.retryable = retryable;
  }
}

export class BodyTooLong extends RequestError {
  constructor(maxBytes: number) {
    super(`the body is longer than ${maxBytes} bytes`, false);
  }
}

export type HttpClient = ReturnType<typeof createHttpClient>;

export function createHttpClient({ origin, timeout, maxBytes, connections, lookup }: HttpClientOptions) {
  const secure = origin.protocol === 'https:';
  const open = secure ? requestSecurely : request;
  const agent = new (secure ? SecureAgent : Agent)({ keepAlive: true, maxSockets: connections });
  const hostname = origin.hostname.replace(/^\[|\]$/g, '');
  const address = {
    hostname,
    port: origin.port || (secure ? 443 : 80),
    // Otherwise Node would take it from a Host header that a request sets.
    servername: isIP(hostname) > 0 ? '' : hostname,
    ...(lookup !== undefined && { lookup }),
  };

  async function exchange<Body>(
    { method = 'GET', path, headers = {} }: HttpRequest,
    readBody: (chunks: AsyncIterable<Buffer>, maxBytes: number) => Promise<Body>,
  ): Promise<HttpResponse<Body>> {
    const signal = AbortSignal.timeout(timeout);
    try {
      const response = await responseTo(open({ ...address, agent, method, path, headers, signal }));
      return await readResponse(response, method, (chunks) => readBody(chunks, maxBytes));
    } catch (error) {
      if (error instanceof RequestError) throw error;
      if (signal.aborted) throw new RequestError(`no complete response within ${timeout / 1000} s`, true);
      throw requestError(error as NodeJS.ErrnoException);
    }
  }

  return {
    send: (request: HttpRequest) => exchange(request, readBytes),
    /** Reads a body of any size without keeping it. */
    digest: (request: HttpRequest) => exchange(request, readDigest),
    /** Ends every connection; requests under way fail. */
    close: () => agent.destroy(),
  };
}

function responseTo(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // An error after the response has begun is also emitted by the response, where it is handled.
    sent.on('error', reject).on('response', resolve).end();
  });
}

async function readResponse<Body>(
  response: IncomingMessage,
  method: string,
  readBody: (chunks: AsyncIterable<Buffer>) => Promise<Body>,
): Promise<HttpResponse<Body>> {
  const bodiless = method === 'HEAD' || response.statusCode === 204 || response.statusCode === 304;
  const body = await readBody(bodiless ? response : decompressed(response));
  return {
    status: response.statusCode as number,
    headers: response.headers,
    all: (name) =>
      response.rawHeaders.filter((_, i, raw) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === name),
    body,
  };
}

function decompressed(response: IncomingMessage): AsyncIterable<Buffer> {
  if (!/^\s*(x-)?gzip\s*$/i.test(response.headers['content-encoding'] ?? '')) return response;
  return pipeline(response, createGunzip(), () => {});
}

async function readBytes(chunks: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const read: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > maxBytes) throw new BodyTooLong(maxBytes);
    read.push(chunk);
  }
  return Buffer.concat(read, length);
}

async function readDigest(chunks: AsyncIterable<Buffer>, maxBytes: number): Promise<Digest> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > maxBytes) throw new BodyTooLong(maxBytes);
    hash.update(chunk);
  }
  return { sha256: hash.digest('hex'), length };
}

function requestError({ code = '', message }: NodeJS.ErrnoException): RequestError {
  if (code === 'ECONNREFUSED') return new RequestError('connection refused: nothing listens there', true);
  if (code === 'ENOTFOUND') return new RequestError('there is no such host', true);
  if (code === 'ECONNRESET' || code === 'EPIPE')
    return new RequestError('the connection was closed before the response was complete', true);
  if (code.startsWith('Z_')) return new RequestError('the gzip data of the body is corrupt', true);
  if (code.startsWith('HPE_')) return new RequestError(`the response is not valid HTTP (${code})`, false);
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code))
    return new RequestError(`the TLS connection failed: ${message}`, false);
  return new RequestError(message, true);
}
