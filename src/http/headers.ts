// The response headers that do not depend on the answer. Lists are names and values in turn, as Node takes them.
import type { ServerResponse } from 'node:http';

export const JSON_TYPE = 'application/json; charset=utf-8';
export const METHODS = 'GET, HEAD, OPTIONS';
/** An unknown user may appear with the next import, so a 404 or 410 is kept for seconds only. */
export const NOT_FOUND_CACHING = 'max-age=5';
const EXPOSED = 'ETag, RateLimit, RateLimit-Policy, Retry-After';

/** For answers that are data and never a document. */
const DATA_ONLY = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'cross-origin',
  'referrer-policy': 'no-referrer',
};

export type Headers = Record<string, string>;

/** Of every JSON answer. With a list of origins, who may read depends on the request: see edge/cors.ts. */
export function jsonHeaders(corsOrigin: '*' | readonly string[]): Headers {
  return { ...(corsOrigin === '*' && anyOrigin()), ...DATA_ONLY };
}

const anyOrigin = () => ({ 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED });

export const oneOrigin = (origin: string): Headers => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': EXPOSED,
});

export function setHeaders(response: ServerResponse, headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}
