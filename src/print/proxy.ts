// What the configurations of all proxies share.
import { STATUS_CODES } from 'node:http';
import type { PrintInput } from './input.ts';

/** A name in a query, also with percent-encoded letters, as a regular expression. */
const USER = '(?:u|%75)(?:s|%73)(?:e|%65)(?:r|%72)';
const POST = '(?:p|%70)(?:o|%6[fF])(?:s|%73)(?:t|%74)';

/**
 * Only `user` and `post` matter to lookups, and only at the addresses of variants that have them in the query. Proxies drop
 * all others, so that those cannot fill a cache with copies. Parts of the list of people, and oEmbed, keep their queries:
 * no shared cache stores these answers. The patterns match a path with its query, in PCRE's syntax; of `user` and `post`
 * with other parameters, only where each stands there once.
 */
export function lookupQuery({ queryBases }: PrintInput) {
  const paths = queryBases.map((path) => `${path.replace(/[^\w/~-]/g, hexEscape)}/api/?`).join('|');
  const value = '(=[^&]*)?(?:&|$)';
  const repeated = (name: string) => `${name}(?:[=&].*)?&${name}`;
  return {
    /** Left as it is: Vitrine answers 400, which is not cached. */
    repeated: `^(?:${paths})\\?(?:.*&)?(?:${repeated(USER)}|${repeated(POST)})(?:[=&]|$)`,
    /** Path, `user` and `post`: their values with the equals sign. */
    userAndPost: `^(${paths})\\?(?=(?:.*&)?${USER}${value})(?=(?:.*&)?${POST}${value}).*$`,
    user: `^(${paths})\\?(?!(?:.*&)?${POST}(?:[=&]|$))(?:.*&)?${USER}(=[^&]*)?(?:&.*)?$`,
    /** The path alone, where no query matters. */
    none: `^(?!(?:${paths})\\?|/oembed\\?|/people/[a-z](?:\\.json)?\\?(?:.*&)?(?:after|q)=[^&])([^?]*)\\?.*$`,
  };
}

const hexEscape = (character: string) => `\\x${character.charCodeAt(0).toString(16)}`;

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

/** Connections of one client: enough for many people behind one address, too few to take them all. */
export const CLIENT_CONNECTIONS = 200;

/** The error that a proxy sends when no server answers: in Vitrine's format, readable by pages of other origins. */
export const unavailableBody = (status: number) =>
  JSON.stringify({
    statusCode: String(status),
    code: 'NOT_READY',
    error: STATUS_CODES[status],
    message: 'The service is unavailable: try again shortly.',
  });

/** It says nothing that some origins may not read. */
export const unavailableHeaders = ({ corsOrigin }: PrintInput): [name: string, value: string][] => [
  ...(corsOrigin.length === 0 ? [] : [['Access-Control-Allow-Origin', '*'] as [string, string]]),
  ['Cache-Control', 'no-store'],
  ['Retry-After', '1'],
];
