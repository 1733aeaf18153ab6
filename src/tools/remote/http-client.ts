// Sends single HTTP requests to one other server, limited in time and size. Redirects are not followed.

import type { LookupFunction } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import { toError } from '../../records/thrown.ts';

export interface HttpRequest {
  readonly method?: 'GET' | 'HEAD' | 'OPTIONS' | 'POST';
  /** Path and query, sent exactly as written: nothing is normalised. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Makes something of a body while it arrives; may stop before its end. */
export type BodyReader<Body> = (chunks: AsyncIterable<Buffer>) => Promise<Body>;

export interface HttpResponse<Body = Buffer> {
  readonly status: number;
  /** Of a header that comes more than once, the first value. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Every value of a header. */
  readonly all: (name: string) => string[];
  /** Decompressed if it came as gzip. */
  readonly body: Body;
}

export interface HttpClientOptions {
  /** Only scheme, host and port are used. */
  readonly origin: URL;
  /** Milliseconds to wait for a connection, for the headers, and for each further part of the body. */
  readonly timeout: number;
  /** Milliseconds that a request may take in all, whatever the server sends meanwhile. */
  readonly limit: number;
  readonly connections: number;
  readonly userAgent?: string;
  /** Resolves the host name; the address that it gives is the one that is used. */
  readonly lookup?: LookupFunction;
}

/** The limit for a body that is read whole: fifteen records of 64 KiB, with room for every character to be an escape. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * What a failure is about. A `passing` one is worth repeating the request. Others are those of one `answer` or of the whole
 * `site`, or the site has `closed`: it asks for a longer pause than a run waits.
 */
type FailureKind = 'passing' | 'answer' | 'site' | 'closed';

/** A request that failed. */
export class SiteError extends Error {
  override name = 'SiteError';
  readonly kind: FailureKind;
  /** Milliseconds that the site asks to wait before the request is repeated. */
  readonly wait: number;
  constructor(message: string, kind: FailureKind, wait = 0) {
    super(message);
    this.kind = kind;
    this.wait = wait;
  }
}

const tooSlow = (limit: number) => new SiteError(`no whole response within ${limit / 1000} s`, 'site');
const tooLong = (maxBytes: number) => new SiteError(`the body is longer than ${maxBytes} bytes`, 'answer');

export type HttpClient = ReturnType<typeof createHttpClient>;

export function createHttpClient(options: HttpClientOptions) {
  const { timeout, limit, userAgent } = options;
  const pool = createPool(options);

  /** Interim responses (1xx) and bodies of all statuses may come without end, each part in time. */
  async function exchange<Body>(
    request: HttpRequest,
    maxBytes: number,
    readBody: ResponseReader<Body>,
  ): Promise<HttpResponse<Body>> {
    const whole = new AbortController();
    const timer = setTimeout(() => whole.abort(tooSlow(limit)), limit);
    try {
      return await askAndRead(request, maxBytes, readBody, whole.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async function askAndRead<Body>(
    { method = 'GET', path, headers: more, body: sent }: HttpRequest,
    maxBytes: number,
    readBody: ResponseReader<Body>,
    signal: AbortSignal,
  ): Promise<HttpResponse<Body>> {
    const headers = { ...(userAgent !== undefined && { 'user-agent': userAgent }), ...more };
    const options = { method, path, headers, body: sent ?? null, signal };
    const response = await pool
      .request(options)
      .catch((error) => Promise.reject(requestError(error, timeout)));
    const { statusCode: status, body } = response;
    const { headers: first, all } = readHeaders(response);
    // A response without a body may say how long it would be.
    if (method !== 'HEAD' && status !== 304 && Number(first['content-length']) > maxBytes) {
      body.destroy();
      throw tooLong(maxBytes);
    }
    const content = limited(decompressed(body, first['content-encoding']), maxBytes, timeout);
    return { status, headers: first, all, body: await readBody(response, content) };
  }

  return {
    /** Reads the whole body. */
    send: (request: HttpRequest) => exchange(request, MAX_BYTES, readWhole),
    /** Passes the body of a 200 to a reader; bodies of other statuses are skipped. */
    receive: <Body>(
      request: HttpRequest,
      read: BodyReader<Body>,
      maxBytes: number,
    ): Promise<HttpResponse<Body | undefined>> =>
      exchange(request, maxBytes, async ({ statusCode, body }, chunks) => {
        if (statusCode === 200) return await read(chunks);
        await body.dump();
        return undefined;
      }),
    /** Ends every connection; requests under way fail. */
    close: () => void pool.destroy(),
  };
}

const createPool = ({ origin, timeout, connections, lookup }: HttpClientOptions) =>
  new Pool(origin.origin, {
    connections,
    allowH2: false,
    headersTimeout: timeout,
    bodyTimeout: timeout,
    connect: connectByOrigin({ timeout, ...(lookup !== undefined && { lookup }) }),
  });

/** The certificate must be that of the origin. Otherwise undici takes the name from a Host header that a request sets. */
function connectByOrigin(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector({ allowH2: false, ...options });
  return ({ servername: _, ...address }, callback) => connect(address, callback);
}

/** The first value of each header; `all` has every value of one. */
function readHeaders({ headers }: Dispatcher.ResponseData) {
  const all = (name: string) => [headers[name] ?? []].flat();
  return { headers: Object.fromEntries(Object.keys(headers).map((name) => [name, all(name)[0]])), all };
}

type ResponseReader<Body> = (
  response: Dispatcher.ResponseData,
  chunks: AsyncIterable<Buffer>,
) => Promise<Body>;

const readWhole: ResponseReader<Buffer> = async ({ statusCode, body }, chunks) => {
  if (statusCode !== 304) return Buffer.concat(await Array.fromAsync(chunks));
  // Caches may send the length of the stored body, and undici takes it for a mistake that there is none.
  await body.dump();
  return Buffer.of();
};

async function* decompressed(body: Readable, encoding: string | undefined): AsyncGenerator<Buffer> {
  yield* /^\s*(x-)?gzip\s*$/i.test(encoding ?? '') ? pipeline(body, createGunzip(), () => {}) : body;
}

async function* limited(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
  timeout: number,
): AsyncGenerator<Buffer> {
  let length = 0;
  try {
    for await (const chunk of chunks) {
      length += chunk.length;
      if (length > maxBytes) throw tooLong(maxBytes);
      yield chunk;
    }
  } catch (error) {
    throw requestError(toError(error), timeout);
  }
}

/** What a SiteError says then. */
export const CLOSED = 'the connection was closed before the response was complete';
const UNKNOWN_AUTHORITY =
  'the certificate is signed by an authority that is not trusted here (NODE_EXTRA_CA_CERTS adds one)';

const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: nothing listens there',
  ENOTFOUND: 'there is no such host',
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  UND_ERR_HEADERS_OVERFLOW: 'the headers are too long',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
};

/** What does not pass by itself, so that the request is not worth repeating. */
const LASTING = /CERT|TLS|SSL|EPROTO|UNABLE_TO|HEADERS_OVERFLOW/;

function requestError(error: NodeJS.ErrnoException, timeout: number): SiteError {
  if (error instanceof SiteError) return error;
  const { name, code = '', message } = error;
  if (message === 'bad upgrade')
    return new SiteError('the server switches to another protocol (status 101)', 'site');
  if (code === 'UND_ERR_CONNECT_TIMEOUT')
    return new SiteError(`no connection within ${timeout / 1000} s`, 'passing');
  if (/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code))
    return new SiteError(`nothing came for ${timeout / 1000} s`, 'passing');
  if (code.startsWith('Z_')) return new SiteError('the gzip data of the body is corrupt', 'passing');
  if (name === 'HTTPParserError')
    return new SiteError(`the response is not valid HTTP (${code || message})`, 'site');
  const isLasting = LASTING.test(code);
  const otherwise = isLasting ? `there is no TLS connection (${code})` : message;
  return new SiteError(SENTENCES[code] ?? otherwise, isLasting ? 'site' : 'passing');
}
