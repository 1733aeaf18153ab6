// The error that a proxy sends when no server answers: in Vitrine's format, readable by pages of any allowed origin.
import { STATUS_CODES } from 'node:http';

const RETRY_SECONDS = '1';

export const unavailableBody = (status: number) =>
  JSON.stringify({
    statusCode: String(status),
    code: 'NOT_READY',
    error: STATUS_CODES[status],
    message: 'The service is unavailable: try again shortly.',
  });

export const UNAVAILABLE_HEADERS = {
  'Cache-Control': 'no-store',
  'Retry-After': RETRY_SECONDS,
} as const;
