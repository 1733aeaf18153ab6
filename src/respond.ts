// The one place where responses are written: the headers each carries, 200 or 304, errors, and what is counted.
import { IncomingMessage, type ServerResponse } from 'node:http';
import type { Answer } from './answers.ts';
import { matches } from './conditional.ts';
import type { Config } from './config.ts';
import type { ErrorCode } from './errors.ts';
import { FAILURES } from './errors.ts';
import type { Operation } from './operations.ts';
import { StoreError } from './stores/store.ts';

/** A request that knows when its headers had arrived. */
export class TimedRequest extends IncomingMessage {
  readonly arrived = performance.now();
}

/** Told of every response, as it is handed to Node. */
export type Observer = (request: IncomingMessage, operation: Operation, status: number) => void;

export interface ResponderOptions {
  readonly config: Pick<Config, 'cacheControl' | 'corsOrigin'>;
  readonly observe: Observer;
  /** Told of what went wrong inside, before the client hears of it in general terms. */
  readonly onFault: (request: IncomingMessage, error: unknown) => void;
  /** Whether connections are to be given up after this response. */
  readonly closing: () => boolean;
}

export type Responder = ReturnType<typeof createResponder>;

const JSON_TYPE = 'application/json; charset=utf-8';
const METHODS = 'GET, HEAD, OPTIONS';
const A_DAY = '86400';
/** An unknown user may appear with the next import: remembered for seconds only. */
const NOT_FOUND_CACHING = 'max-age=5';

export const RETRY_SOON = ['retry-after', '1'];

/** For answers that are data and never a document. */
const SECURITY = [
  'x-content-type-options',
  'nosniff',
  'content-security-policy',
  "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy',
  'cross-origin',
  'referrer-policy',
  'no-referrer',
];

export function createResponder({ config, observe, onFault, closing }: ResponderOptions) {
  const { corsOrigin } = config;
  const anyOrigin = corsOrigin === '*';
  const fixed = [
    ...(anyOrigin ? ['access-control-allow-origin', '*', 'access-control-expose-headers', 'ETag, Retry-After'] : []),
    ...SECURITY,
  ];

  /** What depends on the request: which of several origins may read, and whether the connection ends. */
  function varying(request: IncomingMessage): string[] {
    const headers = anyOrigin || corsOrigin.length === 0 ? [] : ['vary', 'Origin'];
    const { origin } = request.headers;
    if (!anyOrigin && origin !== undefined && corsOrigin.includes(origin))
      headers.push('access-control-allow-origin', origin, 'access-control-expose-headers', 'ETag, Retry-After');
    if (closing()) headers.push('connection', 'close');
    return headers;
  }

  function write(
    request: IncomingMessage,
    response: ServerResponse,
    operation: Operation,
    status: number,
    headers: readonly string[],
    body?: Buffer,
  ): void {
    const all = anyOrigin && !closing() ? headers : [...headers, ...varying(request)];
    response.writeHead(status, all as string[]);
    response.end(body);
    observe(request, operation, status);
  }

  const failure = (
    request: IncomingMessage,
    response: ServerResponse,
    operation: Operation,
    code: ErrorCode,
    more: readonly string[] = [],
  ): void => {
    const { status, body } = FAILURES[code];
    const caching = status === 404 ? NOT_FOUND_CACHING : 'no-store';
    const headers = ['content-type', JSON_TYPE, 'content-length', String(body.length), 'cache-control', caching];
    write(request, response, operation, status, [...headers, ...fixed, ...more], body);
  };

  return {
    failure,

    /** What was thrown becomes 503 when the data is at fault, and 500 when we are; its words stay here. */
    fault(request: IncomingMessage, response: ServerResponse, operation: Operation, error: unknown): void {
      onFault(request, error);
      if (response.headersSent) response.destroy();
      else if (isDataFault(error)) failure(request, response, operation, 'NOT_READY', RETRY_SOON);
      else failure(request, response, operation, 'INTERNAL');
    },

    /** The headers that an answer carries whenever it is given. */
    headersOf(body: Buffer, etag: string, { type = JSON_TYPE, caching = config.cacheControl, more = fixed } = {}) {
      const notModifiedHeaders = ['etag', etag, 'cache-control', caching, ...more];
      return {
        headers: ['content-type', type, 'content-length', String(body.length), ...notModifiedHeaders],
        notModifiedHeaders,
      };
    },

    /** 200 with the answer, or 304 when the client has it already. */
    answer(request: IncomingMessage, response: ServerResponse, operation: Operation, answer: Answer): void {
      if (matches(request.headers['if-none-match'], answer.etag))
        write(request, response, operation, 304, answer.notModifiedHeaders);
      else write(request, response, operation, 200, answer.headers, answer.body);
    },

    /** 204, for OPTIONS; a browser that asks before it fetches is told what it may send. */
    options(request: IncomingMessage, response: ServerResponse, operation: Operation): void {
      const preflight =
        request.headers['access-control-request-method'] === undefined
          ? []
          : [
              'access-control-allow-methods',
              METHODS,
              'access-control-allow-headers',
              '*',
              'access-control-max-age',
              A_DAY,
            ];
      write(request, response, operation, 204, ['allow', METHODS, ...fixed, ...preflight]);
    },

    /** JSON that is nobody's data: probes. */
    json(request: IncomingMessage, response: ServerResponse, operation: Operation, status: number, value: object): void {
      const body = Buffer.from(JSON.stringify(value));
      const headers = ['content-type', JSON_TYPE, 'content-length', String(body.length), 'cache-control', 'no-store'];
      write(request, response, operation, status, [...headers, ...fixed], body);
    },
  };
}

function isDataFault(error: unknown): boolean {
  return error instanceof StoreError || (error instanceof Error && error.name === 'SqliteError');
}
