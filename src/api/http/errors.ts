// Every error a client can meet: its code, its status and a sentence that says what to do.
import { type TSchema, Type } from '@sinclair/typebox';
import type { FastifyReply } from 'fastify';
import { createTable, keysOf } from '../../records/tables.ts';
import { JSON_TYPE, LONG_CACHING_HEADERS, METHODS, NOT_FOUND_CACHING } from './headers.ts';
import { STATUS_CODES } from './node-http.ts';

const CATALOGUE = {
  USER_MISSING: [400, 'Name a user.'],
  USER_REPEATED: [400, 'Name one user: the parameter `user` must stand once.'],
  USER_MALFORMED: [
    400,
    'The user name must be 1 to 255 characters of well-formed text without control characters.',
  ],
  POST_MALFORMED: [400, 'The parameter `post` must be absent, or stand once as `post=true`.'],
  BAD_ESCAPE: [400, 'The address has a broken percent escape: write a literal percent sign as %25.'],
  QUERY_MALFORMED: [400, 'A parameter of the query must stand once.'],
  BAD_REQUEST: [400, 'The request is not well-formed HTTP.'],
  PROXY_PROTOCOL: [
    400,
    'This is the PROXY protocol, which is not spoken here: turn it off in the proxy, and send X-Forwarded-For.',
  ],
  HOST_MISSING: [400, 'An HTTP/1.1 request must carry one Host header.'],
  USER_NOT_FOUND: [404, 'No user has this name. Letter case does not matter, spelling does.'],
  ROUTE_NOT_FOUND: [404, 'There is nothing at this address.'],
  METHOD_NOT_ALLOWED: [405, 'This address is read-only: use GET or HEAD.'],
  REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
  USER_GONE: [410, 'This user was taken down.'],
  URI_TOO_LONG: [414, 'The address is too long.'],
  USER_TOO_LONG: [414, 'A user name has at most 255 characters.'],
  RANGE_NOT_SATISFIABLE: [416, 'The file has none of these bytes: Content-Range says how many it has.'],
  EXPECTATION_FAILED: [417, 'The only expectation that can be met is 100-continue.'],
  RATE_LIMITED: [429, 'Too many requests: wait as long as Retry-After says.'],
  HEADERS_TOO_LARGE: [431, 'The request headers are too large.'],
  INTERNAL: [500, 'Something went wrong here; it has been logged.'],
  FORMAT_UNKNOWN: [501, 'The only format is JSON: ask with `format=json`.'],
  OVERLOADED: [503, 'Too busy to answer just now: try again shortly.'],
  NOT_READY: [503, 'Nothing was imported yet, or the data cannot be read just now: try again shortly.'],
} as const;

export type ErrorCode = keyof typeof CATALOGUE;
export const ERROR_CODES = keysOf(CATALOGUE);

/** Thrown where a request cannot be answered; the error handler sends what the catalogue says. */
export class RequestError extends Error {
  override name = 'RequestError';
  readonly code: ErrorCode;
  constructor(code: ErrorCode) {
    super(code);
    this.code = code;
  }
}

export interface Failure {
  readonly status: number;
  readonly code: ErrorCode;
  readonly body: Buffer;
}

export const FAILURES = createTable(ERROR_CODES, (code): Failure => {
  const [status, message] = CATALOGUE[code];
  const body = { statusCode: String(status), code, error: STATUS_CODES[status], message };
  return { status, code, body: Buffer.from(JSON.stringify(body)) };
});

export function sendFailure(
  reply: FastifyReply,
  code: ErrorCode,
  notFoundCaching: string = NOT_FOUND_CACHING,
): FastifyReply {
  const { status, body } = FAILURES[code];
  const isUnknown = status === 404 || status === 410;
  if (status === 405) reply.header('allow', METHODS);
  if (status === 503) reply.header('retry-after', '1');
  // What was found may have failed while it was sent.
  if (!isUnknown) for (const name of LONG_CACHING_HEADERS) reply.removeHeader(name);
  return reply
    .code(status)
    .type(JSON_TYPE)
    .header('cache-control', isUnknown ? notFoundCaching : 'no-store')
    .send(body);
}

const codeSchema = (codes: readonly ErrorCode[]) =>
  Type.Union(
    codes.map((code) => Type.Literal(code)),
    { description: 'The kind of error, for programs.' },
  );

const errorBody = (statusCode: TSchema, codes: readonly ErrorCode[], options: object) =>
  Type.Object(
    {
      statusCode,
      code: codeSchema(codes),
      error: Type.String({ description: 'The standard phrase of the status.' }),
      message: Type.String({ description: 'What to do about it, for people.' }),
    },
    options,
  );

/** The body of every answer that is not a success. */
export const ErrorBody = errorBody(
  Type.String({ description: 'The HTTP status, as decimal digits.', pattern: '^[45][0-9]{2}$' }),
  ERROR_CODES,
  { $id: 'ApiError', title: 'Error', description: 'The body of every answer that is not a success.' },
);

/** Errors that any address can give. */
const OF_ANY_ADDRESS: readonly ErrorCode[] = [
  'BAD_REQUEST',
  'PROXY_PROTOCOL',
  'HOST_MISSING',
  'REQUEST_TIMEOUT',
  'URI_TOO_LONG',
  'EXPECTATION_FAILED',
  'RATE_LIMITED',
  'HEADERS_TOO_LARGE',
  'INTERNAL',
  'OVERLOADED',
  'NOT_READY',
];

/** The response schemas of a route's errors: by status, its own codes and those that any address can give. */
export function errorResponses(...codes: readonly ErrorCode[]): Record<number, TSchema> {
  const all = ERROR_CODES.filter((code) => codes.includes(code) || OF_ANY_ADDRESS.includes(code));
  const byStatus = Map.groupBy(all, (code) => FAILURES[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      errorBody(Type.Literal(String(status)), group, { 'x-error-codes': group }),
    ]),
  );
}
