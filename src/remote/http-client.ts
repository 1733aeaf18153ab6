// Sends single HTTP requests to one other server, limited in time and size. Redirects are not followed.
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

/** Makes something of a body while it arrives; may stop before its end. */
export type BodyReader<Body> = (chunks: AsyncIterable<Buffer>) => Promise<Body>;

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

const LONGEST_SKIPPED = 64 * 1024;

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
    readBody: (chunks: AsyncIterable<Buffer>, status: number) => Promise<Body>,
  ): Promise<HttpResponse<Body>> {
    const signal = AbortSignal.timeout(timeout);
    try {
      const response = await responseTo(open({ ...address, agent, method, path, headers, signal }));
      return await readResponse(response, method, maxBytes, readBody);
    } catch (error) {
      if (error instanceof RequestError) throw error;
      if (signal.aborted) throw new RequestError(`no complete response within ${timeout / 1000} s`, true);
      throw requestError(error as NodeJS.ErrnoException);
    }
  }

  return {
    send: (request: HttpRequest) => exchange(request, readBytes),
    /** Passes the body of a 200 to a reader; nobody needs the others. */
    receive: <Body>(request: HttpRequest, read: BodyReader<Body>): Promise<HttpResponse<Body | undefined>> =>
      exchange(request, (chunks, status) => (status === 200 ? read(chunks) : skip(chunks))),
    /** Ends every connection; requests under way fail. */
    close: () => agent.destroy(),
  };
}

function responseTo(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Without a listener, Node closes the connection and emits nothing else.
    sent.on('upgrade', (_response, socket) => {
      socket.destroy();
      reject(new RequestError('the server switches to another protocol (status 101)', false));
    });
    // An error after the response has begun is also emitted by the response, where it is handled.
    sent.on('error', reject).on('response', resolve).end();
  });
}

async function readResponse<Body>(
  response: IncomingMessage,
  method: string,
  maxBytes: number,
  readBody: (chunks: AsyncIterable<Buffer>, status: number) => Promise<Body>,
): Promise<HttpResponse<Body>> {
  const status = response.statusCode as number;
  const bodiless = method === 'HEAD' || status === 204 || status === 304;
  if (!bodiless && Number(response.headers['content-length']) > maxBytes) {
    response.destroy();
    throw new BodyTooLong(maxBytes);
  }
  const body = await readBody(bodiless ? response : limited(decompressed(response), maxBytes), status);
  return {
    status,
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

async function* limited(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > maxBytes) throw new BodyTooLong(maxBytes);
    yield chunk;
  }
}

async function readBytes(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const read: Buffer[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return Buffer.concat(read);
}

/** The connection of a short body can be used again; that of a long one is closed. */
async function skip(chunks: AsyncIterable<Buffer>): Promise<undefined> {
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > LONGEST_SKIPPED) return undefined;
  }
  return undefined;
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
