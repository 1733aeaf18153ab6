// What the printed configurations of nginx and Caddy share: what is compressed, and the error while no server answers.
import { STATUS_CODES } from 'node:http';
import type { PrintInput } from './input.ts';

/** What Vitrine may send uncompressed although it is worth compressing, besides HTML. */
export const COMPRESSIBLE = [
  'application/json',
  'text/css',
  'text/javascript',
  'image/svg+xml',
  'application/atom+xml',
  'application/xml',
  'application/feed+json',
] as const;

/** Whether some origins are allowed and others are not, so that responses depend on who asks. */
export const isList = (corsOrigin: PrintInput['corsOrigin']): corsOrigin is string[] =>
  corsOrigin !== '*' && corsOrigin.length > 0;

/** The error that a proxy sends when no server answers: in Vitrine's format, readable by pages of other origins. */
export const unavailableBody = (status: number) =>
  JSON.stringify({
    statusCode: String(status),
    code: 'NOT_READY',
    error: STATUS_CODES[status],
    message: 'The service is unavailable: try again shortly.',
  });

/** It says nothing that some origins may not read. */
export const unavailableHeaders = ({
  corsOrigin,
}: PrintInput): (readonly [name: string, value: string])[] => [
  ...(corsOrigin.length === 0 ? [] : [['Access-Control-Allow-Origin', '*'] as const]),
  ['Cache-Control', 'no-store'],
  ['Retry-After', '1'],
];
