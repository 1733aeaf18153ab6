// Every setting there is, in one table: its meaning, its default, and how its text becomes a value.
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import proxyAddr from '@fastify/proxy-addr';
import { isPostgresUrl, parsePostgresUrl, shownDatabase } from './database-url.ts';

/** Says what is wrong with a setting's text; the sentence goes on after the setting's name. */
class Mistake extends Error {}

interface Setting<T> {
  readonly meaning: string;
  readonly fallback: string;
  readonly parse: (text: string) => T;
  /** Whether the empty text has a meaning of its own; otherwise it stands for the default. */
  readonly emptyCounts?: boolean;
}

const setting = <T>(
  fallback: string,
  parse: (text: string) => T,
  meaning: string,
  more: { emptyCounts?: boolean } = {},
): Setting<T> => ({ meaning, fallback, parse, ...more });

export const SETTINGS = {
  databaseUrl: setting(
    '',
    optional(databaseUrl),
    'where the records live: the path (or `file:` URL) of a SQLite file, or `postgres://…`; none: the sample users, from memory',
  ),
  host: setting('127.0.0.1', address, 'address to listen on'),
  port: setting('8080', port, 'port to listen on'),
  baseUrlA: setting(
    '/a',
    baseUrl,
    "variant A's base address: a path, or a URL whose host has to match too; empty: off",
    { emptyCounts: true },
  ),
  baseUrlB: setting('/b', baseUrl, "variant B's base address, likewise", { emptyCounts: true }),
  baseUrlC: setting('/c', baseUrl, "variant C's base address, likewise", { emptyCounts: true }),
  workers: setting(
    '1',
    workerCount,
    "processes that share the port, or `auto` for one a core; memory and rate limits are each one's own",
  ),
  adminHost: setting('127.0.0.1', address, 'address of the admin port'),
  adminPort: setting('', optional(port), 'port for `/metrics`, `/healthz` and `/readyz`; none: no metrics'),
  cacheControl: setting(
    'public, max-age=15, stale-while-revalidate=30, stale-if-error=86400',
    headerText,
    '`Cache-Control` of every success',
  ),
  corsOrigin: setting(
    '*',
    origins,
    'origins that may read the answers: `*`, `none`, or a list separated by commas',
  ),
  trustProxy: setting(
    '',
    networks,
    'proxies whose `X-Forwarded-*` and `X-Request-Id` are believed: addresses and networks, or `loopback`, `linklocal`, `uniquelocal`',
  ),
  rateLimit: setting(
    '',
    optional(rate),
    'requests a client may make in a time, such as `600/1m`; none: no limit',
  ),
  rateLimitExempt: setting('', networks, 'clients without a limit: addresses and networks'),
  explorer: setting('on', onOff, 'the explorer page at `/`: `on` or `off`'),
  imageHosts: setting(
    'none',
    origins,
    "origins from which the explorer page may load people's pictures: `*`, `none`, or a list",
  ),
  docs: setting('on', onOff, 'the API reference page at `/docs`: `on` or `off`'),
  answersBytes: setting('64M', bytes, 'how much memory ready answers may take; 0: keep none'),
  headersTimeout: setting('10s', duration, 'how long a request may take to send its headers'),
  requestTimeout: setting('30s', duration, 'how long a request may take to arrive whole'),
  keepAliveTimeout: setting(
    '65s',
    duration,
    'how long an idle connection is kept; longer than the proxy in front keeps it',
  ),
  maxHeaderBytes: setting('16K', between(bytes, 2048, 1 << 20), 'largest request line and headers'),
  maxConnections: setting(
    '10000',
    between(whole, 1, 1_000_000),
    'connections at a time; further ones are turned away',
  ),
  maxLoopDelay: setting(
    '500ms',
    duration,
    'requests are answered 503 while the event loop lags more than this; 0: never',
  ),
  logLevel: setting(
    'info',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'the least grave log line to write',
  ),
  accessLog: setting('off', onOff, 'a log line for each request: `on` or `off`'),
  slowRequest: setting('1s', duration, 'log requests that took longer; 0: none'),
  shutdownDelay: setting(
    '0s',
    duration,
    'after SIGTERM, how long to go on serving, not ready, so that a balancer can notice',
  ),
  shutdownGrace: setting('5s', duration, 'after that, how long requests in flight may take'),
} satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof SETTINGS;
export type Config = { readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['parse']> };
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

/** `baseUrlA` as the environment spells it: `BASE_URL_A`. */
export const variableOf = (name: SettingName) =>
  name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
/** `baseUrlA` as the command line spells it: `--base-url-a`. */
export const flagOf = (name: SettingName) => `--${variableOf(name).toLowerCase().replaceAll('_', '-')}`;

export class ConfigError extends Error {
  readonly mistakes: readonly string[];
  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'));
    this.mistakes = mistakes;
  }
}

/** Reads the settings from flags and environment, flags first; throws all mistakes at once. */
export function readConfig(
  flags: Partial<Record<SettingName, string>> = {},
  environment: Record<string, string | undefined> = {},
): Config {
  const mistakes: string[] = [];
  const values = SETTING_NAMES.map((name) => {
    const { fallback, parse, emptyCounts }: Setting<unknown> = SETTINGS[name];
    const label = flags[name] === undefined ? variableOf(name) : flagOf(name);
    const given = flags[name] ?? environment[variableOf(name)];
    const text = given === undefined || (given.trim() === '' && !emptyCounts) ? fallback : given.trim();
    try {
      return [name, parse(text)];
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      const shown = name === 'databaseUrl' ? shownDatabase(text) : text;
      mistakes.push(`${label} ${error.message}, not ${JSON.stringify(shown)}`);
      return [name, undefined];
    }
  });
  const config = Object.fromEntries(values) as Config;
  if (mistakes.length === 0) mistakes.push(...clashes(config));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}

/** Where a variant answers: at a path, on one host or on any. */
export interface BaseUrl {
  readonly path: string;
  readonly host: string | undefined;
  /** Scheme and host as they were given. */
  readonly origin: string | undefined;
}

function baseUrl(text: string): BaseUrl | undefined {
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
  return { path: trimmed, host: hostKey(url.host), origin: url.origin };
}

/** A Host in the form in which two spellings of it meet: lower case, no default port. */
export const hostKey = (host: string) => host.toLowerCase().replace(/:(80|443)?$/, '');

function clashes(config: Config): string[] {
  const shared =
    config.adminPort !== undefined &&
    config.adminPort !== 0 &&
    config.adminPort === config.port &&
    config.adminHost === config.host
      ? ['ADMIN_PORT and PORT are the same: give the admin port its own']
      : [];
  const bases = (['baseUrlA', 'baseUrlB', 'baseUrlC'] as const).flatMap((name) => {
    const base = config[name];
    return base === undefined ? [] : [{ name, ...base }];
  });
  const claims = bases.flatMap((one, index) =>
    bases
      .slice(index + 1)
      .filter((two) => one.path === two.path && (one.host ?? two.host) === (two.host ?? one.host))
      .map(
        (two) =>
          `${variableOf(one.name)} and ${variableOf(two.name)} claim the same address: give each its own`,
      ),
  );
  return [...claims, ...shared];
}

/** The path of a SQLite file, or the URL of a PostgreSQL database as it is. */
function databaseUrl(text: string): string {
  if (isPostgresUrl(text)) {
    try {
      parsePostgresUrl(text);
      return text;
    } catch (error) {
      throw new Mistake(`must ${(error as Error).message}`);
    }
  }
  if (/^file:/i.test(text)) {
    const path = /^file:\/\//i.test(text) ? fileURLToPath(text) : text.slice('file:'.length);
    if (path !== '') return path;
  } else if (!/^[a-z][a-z0-9+.-]+:/i.test(text)) return text;
  throw new Mistake('must be the path or file: URL of a SQLite file, or a postgres:// URL');
}

function address(text: string): string {
  if (isIP(text) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text))
    throw new Mistake('must be an IP address or a host name');
  return text;
}

function whole(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number)) throw new Mistake('must be a whole number');
  return number;
}

function workerCount(text: string): number {
  return text === 'auto' ? availableParallelism() : between(whole, 1, 256)(text);
}

function port(text: string): number {
  return between(whole, 0, 65535)(text);
}

function between(parse: (text: string) => number, least: number, most: number) {
  return (text: string) => {
    const number = parse(text);
    if (number < least || number > most) throw new Mistake(`must be from ${least} to ${most}`);
    return number;
  };
}

function optional<T>(parse: (text: string) => T) {
  return (text: string) => (text === '' ? undefined : parse(text));
}

const UNITS = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 } as const;

function bytes(text: string): number {
  const match = /^(\d{1,12})([KMG]?)i?B?$/i.exec(text);
  if (match === null) throw new Mistake('must be a number of bytes such as 65536, 64K or 1G');
  return Number(match[1]) * UNITS[match[2]?.toUpperCase() as keyof typeof UNITS];
}

const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
const LONGEST_DURATION = 24 * MILLISECONDS.h;

/** Milliseconds. */
function duration(text: string): number {
  const match = /^(\d{1,9})(ms|s|m|h)$/.exec(text === '0' ? '0s' : text);
  const value =
    match === null ? Number.NaN : Number(match[1]) * MILLISECONDS[match[2] as keyof typeof MILLISECONDS];
  if (!(value <= LONGEST_DURATION)) throw new Mistake('must be a time such as 500ms, 10s or 5m, at most 24h');
  return value;
}

export interface Rate {
  readonly requests: number;
  /** Milliseconds. */
  readonly window: number;
}

function rate(text: string): Rate {
  const match = /^(\d{1,9})\/(\d*)(ms|s|m|h)$/.exec(text);
  const requests = Number(match?.[1]);
  const window = match === null ? 0 : duration(`${match[2] || 1}${match[3]}`);
  if (!(requests >= 1) || window < 1000)
    throw new Mistake('must be requests per time, such as 600/1m, with a time of at least 1s');
  return { requests, window };
}

/** Addresses and networks, checked; what they mean is `proxy-addr`'s business. */
function networks(text: string): string[] {
  const list = text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
  for (const part of list) {
    if (/^\d+$/.test(part) || !isNetwork(part))
      throw new Mistake('must be addresses and networks separated by commas, such as 10.0.0.0/8 or loopback');
  }
  return list;
}

function isNetwork(part: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(part)) return true;
  // The library would take 10.0.0 or 0x7f000001 for an address, too.
  if (isIP(part.split('/')[0] as string) === 0) return false;
  try {
    proxyAddr.compile(part);
    return true;
  } catch {
    return false;
  }
}

function origins(text: string): '*' | string[] {
  if (text === '*') return '*';
  if (text === 'none') return [];
  const list = text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
  for (const part of list) {
    if (!URL.canParse(part) || new URL(part).origin !== part)
      throw new Mistake('must be *, none, or origins such as https://example.org separated by commas');
  }
  return list;
}

function headerText(text: string): string {
  if (!/^[\x20-\x7e]+$/.test(text)) throw new Mistake('must be one line of plain ASCII');
  return text;
}

function oneOf<const T extends string>(...words: T[]) {
  return (text: string): T => {
    const word = words.find((candidate) => candidate === text);
    if (word === undefined) throw new Mistake(`must be one of ${words.join(', ')}`);
    return word;
  };
}

function onOff(text: string): boolean {
  return oneOf('on', 'off')(text) === 'on';
}
