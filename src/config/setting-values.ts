// What a setting is, and the parsers of values. Each throws a Mistake that says what the value must be.

import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import proxyAddr from '@fastify/proxy-addr';
import { hasKey } from '../records/tables.ts';
import { errorCode } from '../records/thrown.ts';
import { type BaseUrl, hostKey } from './mount.ts';

/** What is wrong with a value, as a sentence that begins with the setting's name. */
export class Mistake extends Error {}

export class ConfigError extends Error {
  readonly mistakes: readonly string[];
  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.mistakes = mistakes;
  }
}

interface SettingTraits {
  /** Whether an empty value has a meaning of its own; otherwise it means the default. */
  readonly emptyIsValue?: boolean;
  /** Whether a wrong value is not shown, since it may hold a password or a token. */
  readonly mayHoldSecret?: boolean;
}

export interface Setting<T> extends SettingTraits {
  readonly meaning: string;
  readonly defaultText: string;
  readonly parse: (text: string) => T;
}

export const setting = <T>(
  defaultText: string,
  parse: (text: string) => T,
  meaning: string,
  traits: SettingTraits = {},
): Setting<T> => ({ meaning, defaultText, parse, ...traits });

export const matching = (pattern: RegExp, mistake: string) => (text: string) => {
  if (!pattern.test(text)) throw new Mistake(mistake);
  return text;
};

export function optional<T>(parse: (text: string) => T) {
  return (text: string) => (text === '' ? undefined : parse(text));
}

const splitList = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

const listOf =
  <T>(parse: (text: string) => T) =>
  (text: string) =>
    splitList(text).map(parse);

const BASE_URL = /^(https?:\/\/[\w.:[\]-]+)?((?:\/(?!\.\.?(?:\/|$))[\w.~!$&'+,;=@-]+)*)\/*$/i;

function readBase(text: string): BaseUrl | undefined {
  const [all, site, path = ''] = BASE_URL.exec(text) ?? [];
  const url = site === undefined ? undefined : URL.parse(site);
  if (all === undefined || url === null) return undefined;
  return { path, host: url && hostKey(url.host), origin: url?.origin };
}

export function baseUrl(text: string): BaseUrl | undefined {
  const base = readBase(text);
  if (base === undefined)
    throw new Mistake(
      "must be a path such as /a, an http(s) URL such as https://example.org/a, or empty; a path may have letters, digits and -._~!$&'+,;=@",
    );
  return text === '' ? undefined : base;
}

/** An absolute URL without a slash at its end. */
export const absoluteUrl = plainUrl('must be an http(s) URL such as https://example.org/media');

/** A URL without user name, query and fragment. */
function plainUrl(mistake: string): (text: string) => string {
  return (text) => {
    const { origin, path } = readBase(text) ?? {};
    if (origin === undefined) throw new Mistake(mistake);
    return origin + path;
  };
}

/** The URL of a program of others; its path may be secret. */
function webUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username + url.password !== '')
    throw new Mistake('must be an http(s) URL without a user name');
  return url;
}

export const webUrls = listOf(webUrl);

export function address(text: string): string {
  if (isIP(text) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text))
    throw new Mistake('must be an IP address or a host name');
  return text;
}

/** Linux allows 107 bytes in the address of a unix socket. */
const socketPath = matching(
  /^(?=.{1,107}$)[\w./@+-]+[^/]$/,
  'must be an address, or the path of a unix socket of at most 107 bytes',
);

export const addressOrSocket = (text: string) => (text.startsWith('/') ? socketPath : address)(text);

const digits = matching(/^\d{1,15}$/, 'must be a whole number');
export const whole = (text: string) => Number(digits(text));

export function between(parse: (text: string) => number, least: number, most: number) {
  return (text: string) => {
    const number = parse(text);
    if (number < least || number > most) throw new Mistake(`must be from ${least} to ${most}`);
    return number;
  };
}

export const port = between(whole, 0, 65535);

export const workerCount = (text: string) =>
  text === 'auto' ? availableParallelism() : between(whole, 1, 256)(text);

const UNITS: Readonly<Record<string, number>> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

export function bytes(text: string): number {
  const [, count, unit = ''] = /^(\d{1,12})([KMG]?)i?B?$/i.exec(text) ?? [];
  const size = UNITS[unit.toUpperCase()];
  if (count === undefined || size === undefined)
    throw new Mistake('must be a number of bytes such as 65536, 64K or 1G');
  return Number(count) * size;
}

const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const A_DAY = 86_400_000;

/** Milliseconds. */
export function duration(text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(text === '0' ? '0s' : text) ?? [];
  const value = Number(count) * (MILLISECONDS[unit] ?? Number.NaN);
  if (!(value <= A_DAY)) throw new Mistake('must be a time such as 500ms, 10s or 5m, at most 24h');
  return value;
}

/** N requests are allowed in each window of some milliseconds. */
export function rate(text: string) {
  const [, count, time = '', unit = ''] = /^([1-9]\d{0,8})\/(\d*)(ms|s|m|h)$/.exec(text) ?? [];
  const window = count === undefined ? 0 : duration(`${time || 1}${unit}`);
  if (window < 1000)
    throw new Mistake('must be requests per time, such as 600/1m, with a time of at least 1s');
  return { requests: Number(count), window };
}

/** A list of addresses and networks; `proxy-addr` interprets them. */
export const networks = listOf((part) => {
  try {
    // The library would accept 10.0.0 or 0x7f000001 as an address as well.
    if (['loopback', 'linklocal', 'uniquelocal'].includes(part) || isIP(part.split('/', 1)[0] ?? '') > 0) {
      proxyAddr.compile(part);
      return part;
    }
  } catch {}
  throw new Mistake('must be addresses and networks separated by commas, such as 10.0.0.0/8 or loopback');
});

const originList = listOf((part) => {
  // The URL standard allows quotes in the name of a host.
  if (URL.parse(part)?.origin !== part || !/^\w+:\/\/[\w.:[\]-]+$/.test(part))
    throw new Mistake('must be *, none, or origins such as https://example.org separated by commas');
  return part;
});

export function origins(text: string): '*' | string[] {
  if (text === '*') return '*';
  return text === 'none' ? [] : originList(text);
}

/** Names, or `auto` where the program chooses. */
export function userNames(text: string): 'auto' | string[] {
  if (text === 'auto') return 'auto';
  return text === 'none' ? [] : splitList(text);
}

export const headerText = matching(/^[\x20-\x7e]+$/, 'must be one line of plain ASCII');

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

// Parsers of the settings of a site's own look: language, name, logo and accent colour.

export const siteLanguage = oneOf('en', 'ar', 'de', 'es', 'fr', 'it', 'ja', 'nl', 'pl', 'pt', 'sv', 'tr');
export type SiteLanguage = ReturnType<typeof siteLanguage>;

const LONGEST_NAME = 60;

export function siteName(text: string): string {
  if (text.length > LONGEST_NAME || /\p{Cc}/u.test(text) || !/[\p{L}\p{N}\p{P}\p{S}]/u.test(text))
    throw new Mistake(`must be one line of at most ${LONGEST_NAME} characters`);
  return text;
}

const LOGO_TYPES: Record<string, string> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
};
const LARGEST_LOGO = 256 * 1024;

/** A picture that is served from memory, or the URL of one on another host. */
export type Logo = { readonly url: string } | { readonly type: string; readonly bytes: Buffer };

export function logo(text: string): Logo {
  if (/^https?:\/\//i.test(text)) {
    absoluteUrl(text);
    return { url: new URL(text).href };
  }
  const type = LOGO_TYPES[extname(text).toLowerCase()];
  if (type === undefined)
    throw new Mistake('must be an http(s) URL, or a file that is SVG, PNG, WebP or JPEG');
  let bytes: Buffer;
  try {
    bytes = readFileSync(text);
  } catch (error) {
    throw new Mistake(`must be a file that can be read (${errorCode(error)})`);
  }
  if (bytes.length > LARGEST_LOGO) throw new Mistake(`must be a file of at most ${LARGEST_LOGO / 1024} KiB`);
  return { type, bytes };
}

/** `#0c6b5b`, or two for light and dark pages. Styles make readable shades of it for text. */
export function accent(text: string): Readonly<Record<'light' | 'dark', string>> {
  const [light = '', dark = light, ...others] = text.split(',').map((part) => part.trim().toLowerCase());
  if (others.length > 0 || ![light, dark].every((colour) => /^#[\da-f]{6}$/.test(colour)))
    throw new Mistake('must be a colour such as #0c6b5b, or two with a comma for light and dark pages');
  return { light, dark };
}

// The caches to purge of what changed (PURGE).

export interface Cache {
  readonly kind: CacheKind;
  /** A folder, a URL, or the id of a zone. */
  readonly place: string;
  /** The most calls a minute that the provider allows, if it was given. */
  readonly perMinute?: number | undefined;
  /** As it was written, without the path of a URL, which may be secret. */
  readonly shown: string;
}

const MISTAKE =
  'must be caches separated by commas, such as nginx:/var/cache/vitrine, cloudflare:ZONE_ID, post:https://example.org/purge';
const place = (pattern: RegExp) => matching(pattern, MISTAKE);

/** The place of each kind in canonical form. */
const PLACES = {
  nginx: place(/^\/[\w./@+-]*[\w.@+-]$/),
  cloudflare: place(/^[0-9a-f]{32}$/),
  post: plainUrl(
    'must name post: with an http(s) URL that has no user name and no ?, such as post:https://example.org/purge',
  ),
};

export type CacheKind = keyof typeof PLACES;

const isKind = (text: string) => hasKey(PLACES, text);

/** `nginx:/var/cache/vitrine,cloudflare:ZONE_ID?per-minute=300` */
export function caches(text: string): Cache[] {
  return splitList(text).map((entry) => {
    const [, kind = '', rest = '', limit] = /^(\w+):(.*?)(?:\?per-minute=([1-9]\d{0,5}))?$/.exec(entry) ?? [];
    if (!isKind(kind)) throw new Mistake(MISTAKE);
    const place = PLACES[kind](rest);
    return {
      kind,
      place,
      perMinute: limit === undefined ? undefined : Number(limit),
      shown: kind === 'post' ? `post:${new URL(place).origin}/…` : entry,
    };
  });
}
