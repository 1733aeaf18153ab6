// Every error a client can meet: its code, its status and a sentence that says what to do.
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
  BAD_REQUEST: [400, 'The request is not well-formed HTTP.'],
  HOST_MISSING: [400, 'An HTTP/1.1 request must carry one Host header.'],
  USER_NOT_FOUND: [404, 'Nobody here has that user name; letter case does not matter, spelling does.'],
  ROUTE_NOT_FOUND: [404, 'There is nothing at this address.'],
  METHOD_NOT_ALLOWED: [405, 'This address is read-only: use GET or HEAD.'],
  REQUEST_TIMEOUT: [408, 'The request did not arrive whole in time.'],
  URI_TOO_LONG: [414, 'The address is too long.'],
  USER_TOO_LONG: [414, 'A user name has at most 255 characters.'],
  EXPECTATION_FAILED: [417, 'The only expectation that can be met is 100-continue.'],
  RATE_LIMITED: [429, 'Too many requests: wait for the time that Retry-After says.'],
  HEADERS_TOO_LARGE: [431, 'The request headers are too large.'],
  INTERNAL: [500, 'Something went wrong here; it has been logged.'],
  OVERLOADED: [503, 'Too busy to answer just now: try again shortly.'],
  NOT_READY: [503, 'The data cannot be read just now: try again shortly.'],
} as const;

export type ErrorCode = keyof typeof CATALOGUE;
export const ERROR_CODES = Object.keys(CATALOGUE) as ErrorCode[];

export interface Failure {
  readonly status: number;
  readonly code: ErrorCode;
  readonly body: Buffer;
}

/** Each error's ready answer. */
export const FAILURES = Object.fromEntries(
  ERROR_CODES.map((code) => {
    const [status, message] = CATALOGUE[code];
    const body = { statusCode: String(status), code, error: STATUS_CODES[status], message };
    return [code, { status, code, body: Buffer.from(JSON.stringify(body)) }];
  }),
) as Record<ErrorCode, Failure>;
