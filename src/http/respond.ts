// The one place where responses are written: the headers each carries, 200 or 304, errors, and what is counted.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../config/config.ts';
import { noteRequest } from '../edge/connection.ts';
import { StoreError } from '../stores/store.ts';
import type { Operation } from '../telemetry/operations.ts';
import type { Answer } from './answer-cache.ts';
import { matches } from './conditional.ts';
import { type ErrorCode, FAILURES, type Failure } from './errors.ts';
import * as http from './node-http.ts';
import { turn } from './turn.ts';

/** A request that knows when its headers had arrived, and that its connection knows. */
export class TimedRequest extends http.IncomingMessage {
  readonly arrived = performance.now();
  /** The method, where it is none that reads. */
  otherMethod: string | undefined;

  constructor(socket: Socket) {
    super(socket);
    noteRequest(socket, this);
  }
}

/** Told of every response, as it is handed to Node. */
export type Observer = (
  request: IncomingMessage,
  operation: Operation,
  status: number,
  bytes: number,
) => void;

export interface ResponderOptions {
  readonly config: Pick<Config, 'cacheControl' | 'corsOrigin'>;
  readonly observe: Observer;
  /** Told of what went wrong inside, before the client hears of it in general terms; gives the request's id. */
  readonly onFault: (request: IncomingMessage, error: unknown) => string;
}

export type Responder = ReturnType<typeof createResponder>;

const JSON_TYPE = 'application/json; charset=utf-8';
const METHODS = 'GET, HEAD, OPTIONS';
const A_DAY = '86400';
/** An unknown user may appear with the next import: remembered for seconds only. */
const NOT_FOUND_CACHING = 'max-age=5';
/** An answer's headers begin with the two, names and values, that a 304 goes without. */
const OF_THE_BODY = 4;
const RETRY_SOON = ['retry-after', '1'];

export const EXPOSED = ['access-control-expose-headers', 'ETag, RateLimit, RateLimit-Policy, Retry-After'];
export const ALLOW = ['allow', METHODS];

/** For answers that are data and never a document. */
const SECURITY = [
  ...['x-content-type-options', 'nosniff'],
  ...['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ...['cross-origin-resource-policy', 'cross-origin'],
  ...['referrer-policy', 'no-referrer'],
];

export function createResponder({ config, observe, onFault }: ResponderOptions) {
  // With a list of origins, who may read depends on who asks: then the gate says it.
  const cors = config.corsOrigin === '*' ? ['access-control-allow-origin', '*', ...EXPOSED] : [];
  const fixed = [...cors, ...SECURITY];

  function write(
    request: IncomingMessage,
    response: ServerResponse,
    operation: Operation,
    status: number,
    headers: readonly string[],
    body?: Buffer,
  ): void {
    turn.answer(() => {
      try {
        response.writeHead(status, headers as string[]);
        response.end(body);
        observe(request, operation, status, body?.length ?? 0);
      } catch (error) {
        onFault(request, error);
        response.destroy();
      }
    });
  }

  /** What is true at this moment only. */
  function passing(
    request: IncomingMessage,
    response: ServerResponse,
    operation: Operation,
    status: number,
    type: string,
    text: string,
  ): void {
    const body = Buffer.from(text);
    const headers = [
      'content-type',
      type,
      'content-length',
      String(body.length),
      'cache-control',
      'no-store',
    ];
    if (status === 503) headers.push(...RETRY_SOON);
    write(request, response, operation, status, [...headers, ...fixed], body);
  }

  function failureHeaders({ status, body }: Failure): readonly string[] {
    const caching = status === 404 ? NOT_FOUND_CACHING : 'no-store';
    const headers = [
      'content-type',
      JSON_TYPE,
      'content-length',
      String(body.length),
      'cache-control',
      caching,
    ];
    if (status === 405) headers.push(...ALLOW);
    if (status === 503) headers.push(...RETRY_SOON);
    return [...headers, ...fixed];
  }
  const failureHeadersOf = Object.fromEntries(
    Object.values(FAILURES).map((one) => [one.code, failureHeaders(one)]),
  ) as Record<ErrorCode, readonly string[]>;

  const failure = (
    request: IncomingMessage,
    response: ServerResponse,
    operation: Operation,
    code: ErrorCode,
    more: readonly string[] = [],
  ): void => {
    const { status, body } = FAILURES[code];
    const headers = failureHeadersOf[code];
    write(request, response, operation, status, more.length === 0 ? headers : [...headers, ...more], body);
  };

  return {
    failure,

    /** What was thrown becomes 503 when the data is at fault, and 500 when we are; its words stay here. */
    fault(request: IncomingMessage, response: ServerResponse, operation: Operation, error: unknown): void {
      const id = ['x-request-id', onFault(request, error)];
      if (response.headersSent) response.destroy();
      else failure(request, response, operation, isDataFault(error) ? 'NOT_READY' : 'INTERNAL', id);
    },

    /** The headers that an answer carries whenever it is given. */
    headersOf(
      body: Buffer,
      etag: string,
      { type = JSON_TYPE, caching = config.cacheControl, more = fixed } = {},
    ) {
      const ofTheBody = ['content-type', type, 'content-length', String(body.length)];
      return { headers: [...ofTheBody, 'etag', etag, 'cache-control', caching, ...more] };
    },

    /** 200 with the answer, or 304 when the client has it already. */
    answer(request: IncomingMessage, response: ServerResponse, operation: Operation, answer: Answer): void {
      if (matches(request.headers['if-none-match'], answer.etag))
        write(request, response, operation, 304, answer.headers.slice(OF_THE_BODY));
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
      write(request, response, operation, 204, [...ALLOW, ...fixed, ...preflight]);
    },

    /** JSON that is nobody's data: probes. */
    json(
      request: IncomingMessage,
      response: ServerResponse,
      operation: Operation,
      status: number,
      value: object,
    ): void {
      passing(request, response, operation, status, JSON_TYPE, JSON.stringify(value));
    },

    text(
      request: IncomingMessage,
      response: ServerResponse,
      operation: Operation,
      type: string,
      text: string,
    ): void {
      passing(request, response, operation, 200, type, text);
    },
  };
}

function isDataFault(error: unknown): boolean {
  return error instanceof StoreError || (error instanceof Error && error.name === 'SqliteError');
}
