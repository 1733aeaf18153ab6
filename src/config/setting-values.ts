// What a setting is, and the parsers of values. Each throws a Mistake that says what the value must be.
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import proxyAddr from '@fastify/proxy-addr';
import { isPostgresUrl, parsePostgresUrl, shownDatabase } from './database-url.ts';

/** What is wrong with a value, as a sentence that begins with the setting's name. */
export class Mistake extends Error {}

export interface Setting<T> {
  readonly meaning: string;
  readonly fallback: string;
  readonly parse: (text: string) => T;
  /** Whether an empty value has a meaning of its own; otherwise it means the default. */
  readonly emptyCounts?: boolean;
}

export const setting = <T>(
  fallback: string,
  parse: (text: string) => T,
  meaning: string,
  more: { emptyCounts?: boolean } = {},
): Setting<T> => ({ meaning, fallback, parse, ...more });

/** Where a variant is served: at a path, on one host or on any. */
export interface BaseUrl {
  readonly path: string;
  readonly host: string | undefined;
  /** Scheme and host, if they were given. */
  readonly origin: string | undefined;
}

export function baseUrl(text: string): BaseUrl | undefined {
  if (text === '') return undefined;
  const absolute = /^https?:\/\//i.test(text);
  if (!absolute && !text.startsWith('/'))
    throw new Mistake('must be a path such as /a, an http(s) URL, or empty');
  const path = absolute ? text.replace(/^https?:\/\/[^/?#]*/i, '') : text;
  const trimmed = path.replace(/\/+$/, '');
  if (!/^(\/[A-Za-z0-9._~!$&'+,;=@-]+)*$/.test(trimmed) || /\/\.{1,2}(\/|$)/.test(trimmed))
    throw new Mistake("must have a path of letters, digits and -._~!$&'+,;=@ only");
  if (!absolute) return { path: trimmed, host: undefined, origin: undefined };
  if (!URL.canParse(text)) throw new Mistake('must be a path such as /a, an http(s) URL, or empty');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') throw new Mistake('must not carry a user name or password');
  if (!/^[\w.:[\]-]+$/.test(url.host))
    throw new Mistake('must name a host of letters, digits, dots and hyphens');
  return { path: trimmed, host: hostKey(url.host), origin: url.origin };
}

/** An absolute URL without a slash at its end. */
export function absoluteUrl(text: string): string {
  const { origin, path } = (URL.canParse(text) && baseUrl(text)) || {};
  if (origin === undefined) throw new Mistake('must be an http(s) URL such as https://example.org/media');
  return origin + path;
}

/** The URL of a program of others. Their paths may be secret, so a mistake does not quote them. */
export function webUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username + url.password !== '')
    throw new Mistake('NOTIFY and WEBSUB_HUB must be http(s) URLs without a user name');
  return url;
}

/** The text of a setting for messages, without what may be secret in its URLs. */
export function withoutSecrets(name: string, text: string): string {
  if (name === 'databaseUrl') return shownDatabase(text);
  if (name !== 'purge') return text;
  return text.replace(/\/\/.*@/g, '//…@').replace(/\?(?!per-minute=)[^,]*/g, '?…');
}

export const webUrls = (text: string) => splitList(text).map(webUrl);

/** A Host header in canonical form: lower case, without a default port. */
export const hostKey = (host: string) => host.toLowerCase().replace(/:(80|443)?$/, '');

/** The path of a SQLite file, or a PostgreSQL URL unchanged. */
export function databaseUrl(text: string): string {
  if (isPostgresUrl(text)) {
    try {
      parsePostgresUrl(text);
      return text;
    } catch (error) {
      throw new Mistake(`must ${(error as Error).message}`);
    }
  }
  if (/^file:/i.test(text)) return filePath(text);
  // A URL without its colon, or with a login, is a typing mistake and would become the name of a file.
  if (/^[a-z][a-z0-9+.-]+:|^[a-z]+\/\/|:[^/]*@/i.test(text))
    throw new Mistake('must be the path or file: URL of a SQLite file, or a postgres:// URL');
  return text;
}

/** The path of a folder, without a slash at its end. */
export function folder(text: string): string {
  const path = /^file:/i.test(text) ? filePath(text) : text;
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path)) throw new Mistake('must be the path or file: URL of a folder');
  return path.replace(/(?<=.)\/+$/, '');
}

const FILE_URLS = 'file:site.db, file:/data/site.db or file:///data/site.db';

/** The path in a file: URL, which may also be relative. Percent escapes mean the same in every form. */
function filePath(text: string): string {
  const [, authority, path = ''] = /^file:(?:\/\/([^/?#]*))?([^?#]*)$/i.exec(text) ?? [];
  const isHere = authority === undefined || authority === '' || authority.toLowerCase() === 'localhost';
  if (path === '' || !isHere) throw new Mistake(`must be a path, or a URL such as ${FILE_URLS}`);
  try {
    // No file name holds a slash or a zero byte.
    if (/%(2f|00)/i.test(path)) throw new URIError('a character that no file name has');
    return decodeURIComponent(path);
  } catch {
    throw new Mistake(
      'must have valid percent escapes in a file: URL (%25 is a percent sign; %2F and %00 are refused)',
    );
  }
}

export function address(text: string): string {
  if (isIP(text) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text))
    throw new Mistake('must be an IP address or a host name');
  return text;
}

/** Linux allows 107 bytes in the address of a unix socket. */
const LONGEST_SOCKET_PATH = 107;

export function addressOrSocket(text: string): string {
  if (!text.startsWith('/')) return address(text);
  if (!/^[\w./@+-]+[^/]$/.test(text) || Buffer.byteLength(text) > LONGEST_SOCKET_PATH)
    throw new Mistake(
      `must be an address, or the path of a unix socket of at most ${LONGEST_SOCKET_PATH} bytes`,
    );
  return text;
}

/** Permissions of a file, as `chmod` takes them. */
export function fileMode(text: string): number {
  if (!/^0?[0-7]{3}$/.test(text)) throw new Mistake('must be permissions such as 660');
  return Number.parseInt(text, 8);
}

export function whole(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number)) throw new Mistake('must be a whole number');
  return number;
}

export function workerCount(text: string): number {
  return text === 'auto' ? availableParallelism() : between(whole, 1, 256)(text);
}

export function port(text: string): number {
  return between(whole, 0, 65535)(text);
}

export function between(parse: (text: string) => number, least: number, most: number) {
  return (text: string) => {
    const number = parse(text);
    if (number < least || number > most) throw new Mistake(`must be from ${least} to ${most}`);
    return number;
  };
}

export function optional<T>(parse: (text: string) => T) {
  return (text: string) => (text === '' ? undefined : parse(text));
}

const UNITS = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 } as const;

export function bytes(text: string): number {
  const match = /^(\d{1,12})([KMG]?)i?B?$/i.exec(text);
  if (match === null) throw new Mistake('must be a number of bytes such as 65536, 64K or 1G');
  return Number(match[1]) * UNITS[match[2]?.toUpperCase() as keyof typeof UNITS];
}

const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
const LONGEST_DURATION = 24 * MILLISECONDS.h;

/** Milliseconds. */
export function duration(text: string): number {
  const match = /^(\d{1,9})(ms|s|m|h)$/.exec(text === '0' ? '0s' : text);
  const value =
    match === null ? Number.NaN : Number(match[1]) * MILLISECONDS[match[2] as keyof typeof MILLISECONDS];
  if (!(value <= LONGEST_DURATION)) throw new Mistake('must be a time such as 500ms, 10s or 5m, at most 24h');
  return value;
}

interface Rate {
  readonly requests: number;
  /** Milliseconds. */
  readonly window: number;
}

export function rate(text: string): Rate {
  const match = /^(\d{1,9})\/(\d*)(ms|s|m|h)$/.exec(text);
  const requests = Number(match?.[1]);
  const window = match === null ? 0 : duration(`${match[2] || 1}${match[3]}`);
  if (!(requests >= 1) || window < 1000)
    throw new Mistake('must be requests per time, such as 600/1m, with a time of at least 1s');
  return { requests, window };
}

export const splitList = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

/** A list of addresses and networks; `proxy-addr` interprets them. */
export function networks(text: string): string[] {
  const list = splitList(text);
  for (const part of list) {
    if (/^\d+$/.test(part) || !isNetwork(part))
      throw new Mistake('must be addresses and networks separated by commas, such as 10.0.0.0/8 or loopback');
  }
  return list;
}

function isNetwork(part: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(part)) return true;
  // The library would accept 10.0.0 or 0x7f000001 as an address as well.
  if (isIP(part.split('/')[0] as string) === 0) return false;
  try {
    proxyAddr.compile(part);
    return true;
  } catch {
    return false;
  }
}

export function origins(text: string): '*' | string[] {
  if (text === '*') return '*';
  if (text === 'none') return [];
  const list = splitList(text);
  for (const part of list) {
    // The URL standard allows quotes in the name of a host.
    if (!URL.canParse(part) || new URL(part).origin !== part || !/^\w+:\/\/[\w.:[\]-]+$/.test(part))
      throw new Mistake('must be *, none, or origins such as https://example.org separated by commas');
  }
  return list;
}

/** Names, or `auto` where the program chooses. */
export function userNames(text: string): 'auto' | string[] {
  if (text === 'auto') return 'auto';
  if (text === 'none') return [];
  return splitList(text);
}

export function headerText(text: string): string {
  if (!/^[\x20-\x7e]+$/.test(text)) throw new Mistake('must be one line of plain ASCII');
  return text;
}

export function headerName(text: string): string {
  if (!/^[A-Za-z][A-Za-z0-9-]*$/.test(text))
    throw new Mistake('must be the name of a header, such as Cache-Tag');
  return text;
}

/** A dictionary of structured fields (RFC 9651): a cache ignores anything else as a whole (RFC 9213, 2.1). */
export function cacheDirectives(text: string): string {
  const directive = /[a-z*][a-z0-9_.*-]*(?:=(?:\d{1,15}|"[ !#-[\]-~]*"|[A-Za-z*][\w.*:/-]*))?/.source;
  if (!new RegExp(`^${directive}(?: *, *${directive})*$`).test(text))
    throw new Mistake('must be directives in lower case, such as max-age=3600, stale-if-error=86400');
  return text;
}

export function oneOf<const T extends string>(...words: T[]) {
  function parse(text: string): T {
    const word = words.find((candidate) => candidate === text);
    if (word === undefined) throw new Mistake(`must be one of ${words.join(', ')}`);
    return word;
  }
  return Object.assign(parse, { words });
}

const SWITCH = oneOf('on', 'off');
export const onOff = Object.assign((text: string): boolean => SWITCH(text) === 'on', { words: SWITCH.words });
