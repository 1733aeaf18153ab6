// Every setting there is, in one table: its meaning, its default, and how its text becomes a value.
import { VARIANT_NAMES, type Variant } from '../variants.ts';
import { shownDatabase } from './database-url.ts';
import {
  address,
  type BaseUrl,
  baseUrl,
  between,
  bytes,
  databaseUrl,
  duration,
  headerText,
  Mistake,
  networks,
  oneOf,
  onOff,
  optional,
  origins,
  port,
  rate,
  whole,
  workerCount,
} from './setting-values.ts';

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

type BaseUrlSetting = `baseUrl${Uppercase<Variant>}`;

const baseUrlSetting = (variant: Variant) => `baseUrl${variant.toUpperCase()}` as BaseUrlSetting;

/** BASE_URL_A and so on: one setting for each variant. */
function baseUrlSettings(): Record<BaseUrlSetting, Setting<BaseUrl | undefined>> {
  const settings = VARIANT_NAMES.map((variant, index) => {
    const meaning =
      index === 0
        ? 'base address of variant A: a path, or a URL whose host has to match too; empty: off'
        : `base address of variant ${variant.toUpperCase()}, likewise`;
    return [baseUrlSetting(variant), setting(`/${variant}`, baseUrl, meaning, { emptyCounts: true })];
  });
  return Object.fromEntries(settings);
}

export const SETTINGS = {
  databaseUrl: setting(
    '',
    optional(databaseUrl),
    'where the records live: the path (or `file:` URL) of a SQLite file, or `postgres://…`; none: the sample users, from memory',
  ),
  host: setting('127.0.0.1', address, 'address to listen on'),
  port: setting('8080', port, 'port to listen on'),
  ...baseUrlSettings(),
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
  answersBytes: setting('24M', bytes, 'how much memory ready answers may take; 0: keep none'),
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

/** A variant that is on, and its base address. */
export interface Site {
  readonly variant: Variant;
  readonly base: BaseUrl;
}

export const sitesOf = (config: Config): Site[] =>
  VARIANT_NAMES.flatMap((variant) => {
    const base = config[baseUrlSetting(variant)];
    return base === undefined ? [] : [{ variant, base }];
  });

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

function clashes(config: Config): string[] {
  const shared =
    config.adminPort !== undefined &&
    config.adminPort !== 0 &&
    config.adminPort === config.port &&
    config.adminHost === config.host
      ? ['ADMIN_PORT and PORT are the same: give the admin port its own']
      : [];
  const bases = sitesOf(config).map(({ variant, base }) => ({ name: baseUrlSetting(variant), ...base }));
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
