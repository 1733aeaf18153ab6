// Every setting in one table: default, parser, meaning.
import { nearest } from '../records/nearest.ts';
import { VARIANT_NAMES, VARIANTS, type Variant } from '../variants.ts';
import { databaseUrl, folder, type ServedFiles } from './database-url.ts';
import type { BaseUrl, Mount } from './mount.ts';
import { chooseSecret, type SettingText } from './secrets.ts';
import {
  absoluteUrl,
  accent,
  address,
  addressOrSocket,
  baseUrl,
  between,
  ConfigError,
  caches,
  duration,
  headerText,
  logo,
  Mistake,
  networks,
  oneOf,
  onOff,
  optional,
  origins,
  port,
  rate,
  type Setting,
  setting,
  siteName,
  userNames,
  webUrls,
  whole,
  workerCount,
} from './setting-values.ts';

type BaseUrlSetting = `baseUrl${Uppercase<Variant>}`;

const baseUrlSetting = (variant: Variant) => `baseUrl${variant.toUpperCase()}` as BaseUrlSetting;

/** BASE_URL_A and so on: one setting for each variant. */
function baseUrlSettings(): Record<BaseUrlSetting, Setting<BaseUrl | undefined>> {
  const settings = VARIANT_NAMES.map((variant) => {
    const meaning = `address of variant ${variant.toUpperCase()}: a path, or a URL for one host only; empty turns it off`;
    return [baseUrlSetting(variant), setting(`/${variant}`, baseUrl, meaning, { emptyIsValue: true })];
  });
  return Object.fromEntries(settings);
}

const SECRET = { mayHoldSecret: true };

export const SETTINGS = {
  databaseUrl: setting(
    '',
    optional(databaseUrl),
    'path of a SQLite file, or a `postgres://` URL; `serve` needs it, or `--samples`',
    SECRET,
  ),
  databaseUrlFile: setting(
    '',
    optional((text) => text),
    'file that holds `DATABASE_URL`, such as a mounted secret',
  ),
  mediaDir: setting(
    '',
    optional(folder),
    'folder of copied pictures: by default `site.db.media` beside `site.db`, none with PostgreSQL',
  ),
  mediaUrl: setting(
    '',
    optional(absoluteUrl),
    'URL of copied pictures: by default `/media` on the host of the first base URL that names one',
  ),
  host: setting(
    '127.0.0.1',
    addressOrSocket,
    'address to listen on, or the path of a unix socket; `::` means every IPv4 and IPv6 address',
  ),
  port: setting('8080', port, 'port to listen on'),
  ...baseUrlSettings(),
  workers: setting(
    '1',
    workerCount,
    'processes that share the port, or `auto` for one per core; memory and rate limits apply to each',
  ),
  adminHost: setting('127.0.0.1', address, 'address of the admin port'),
  adminPort: setting('', optional(port), 'port for `/metrics`, `/healthz` and `/readyz`'),
  cacheControl: setting(
    'public, max-age=15, stale-while-revalidate=30, stale-if-error=86400',
    headerText,
    '`Cache-Control` of successful responses',
  ),
  purge: setting(
    '',
    caches,
    'caches to purge of what changed, such as `nginx:/var/cache/vitrine`; they keep answers of users for a day',
    SECRET,
  ),
  notify: setting('', webUrls, 'URLs that get a `POST` after each change of the data', SECRET),
  takedownStatus: setting(
    '404',
    oneOf('404', '410'),
    'status of users who were taken down: `404`, as unknown ones, or `410`',
  ),
  corsOrigin: setting('*', origins, 'origins that may read responses: `*`, `none`, or a list'),
  trustProxy: setting(
    '',
    networks,
    'proxies whose `X-Forwarded-*` and `X-Request-Id` count: addresses, networks, or `loopback`, `linklocal`, `uniquelocal`',
  ),
  rateLimit: setting('', optional(rate), 'requests allowed per client and period, such as `600/1m`'),
  rateLimitExempt: setting('', networks, 'clients exempt from the rate limit: addresses and networks'),
  explorer: setting(
    'on',
    onOff,
    'all pages: the explorer at `/` and `/explore`, the API reference at `/docs`, and people: `on` or `off`',
  ),
  directory: setting('off', onOff, 'a searchable list of all users at `/`, and sitemaps: `on` or `off`'),
  exampleUsers: setting(
    'auto',
    userNames,
    'users that the explorer and the API reference begin with: `auto` (the five lowest ids of each family), `none`, or a list of names',
  ),
  imageHosts: setting(
    '*',
    origins,
    "origins from which pages load users' pictures, besides copied ones: `*`, `none`, or a list",
  ),
  siteName: setting('Vitrine', siteName, 'name of the site, on pages, feeds and in link previews'),
  siteLogo: setting('', optional(logo), 'logo: an SVG, PNG, WebP or JPEG file of at most 256 KiB, or a URL'),
  siteUrl: setting(
    '',
    optional(absoluteUrl),
    'where the name and logo of pages lead, and the link at their foot',
  ),
  accent: setting(
    '',
    optional(accent),
    'colour such as `#0c6b5b`, or two for light and dark pages, such as `#0c6b5b,#67d3bd`',
  ),
  requestTimeout: setting(
    '30s',
    duration,
    'time to receive a whole request; its headers have 10 seconds at most',
  ),
  keepAliveTimeout: setting(
    '65s',
    duration,
    'time an idle connection stays open; longer than the proxy in front keeps it',
  ),
  writeTimeout: setting('30s', duration, 'time a client may take no byte of a response; `0` sets no limit'),
  maxConnections: setting(
    '10000',
    between(whole, 1, 1_000_000),
    'open connections, or as many as memory and open files allow; then the one idle longest is closed for a new one',
  ),
  maxLoopDelay: setting(
    '500ms',
    duration,
    'answer 503 to requests that waited longer than this; `0` never does',
  ),
  logLevel: setting(
    'info',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`',
  ),
  accessLog: setting('off', onOff, 'log every request: `on` or `off`'),
  slowRequest: setting('1s', duration, 'log requests that take longer than this; `0` logs none'),
  shutdownDelay: setting('0s', duration, 'time to go on serving after SIGTERM while `/readyz` is 503'),
  shutdownGrace: setting('5s', duration, 'time for requests in flight to finish after that'),
} satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof SETTINGS;
type Values = { readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['parse']> };
export type Config = Values & ServedFiles & { readonly rehearsal?: Rehearsal };
/** What `serve --rehearse` was given. */
export type Rehearsal = Readonly<{ delay: string | undefined; fail: string | undefined; seed: number }>;
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

export const listMounts = (config: Config): Mount[] =>
  VARIANT_NAMES.flatMap((variant) => {
    const base = config[baseUrlSetting(variant)];
    return base === undefined ? [] : [{ variant, base }];
  });

/** Of the variants that show the same on one host, the one with the pages that stand for all. */
export const canonicalVariant = (config: Config, { variant, base }: Mount): Variant =>
  listMounts(config).find(
    (other) => VARIANTS[other.variant].family === VARIANTS[variant].family && other.base.host === base.host,
  )?.variant ?? variant;

/** Scheme and host of the first base URL that names a host. */
export const publicOrigin = (config: Config): string | undefined =>
  listMounts(config).find(({ base }) => base.origin !== undefined)?.base.origin;

/** The environment variable of a setting: `baseUrlA` is `BASE_URL_A`. */
export const variableName = (name: SettingName) =>
  name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
/** The command-line flag of a setting: `baseUrlA` is `--base-url-a`. */
export const flagName = (name: SettingName) => `--${variableName(name).toLowerCase().replaceAll('_', '-')}`;

export type Flags = Partial<Record<SettingName, string>>;
export type Environment = Record<string, string | undefined>;

/** Reads the settings from flags and environment, flags first; throws one error that lists every mistake. */
export function readConfig(flags: Flags = {}, environment: Environment = {}): Config {
  const mistakes: string[] = [];
  const values = SETTING_NAMES.map((name) => {
    try {
      return [name, parseSetting(name, flags, environment)];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      mistakes.push(...error.mistakes);
      return [name, undefined];
    }
  });
  const config = Object.fromEntries(values) as Config;
  if (mistakes.length === 0) mistakes.push(...clashes(config));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return config;
}

const findText = (flags: Flags, environment: Environment, name: SettingName): SettingText =>
  flags[name] === undefined
    ? { text: environment[variableName(name)], label: variableName(name) }
    : { text: flags[name], label: flagName(name) };

/** Of the two settings, those of the environment count unless there is a flag for one. */
function findDatabaseUrl(flags: Flags, environment: Environment): SettingText {
  const hasFlag = flags.databaseUrl !== undefined || Boolean(flags.databaseUrlFile?.trim());
  const find = (name: SettingName) => (hasFlag ? findText(flags, {}, name) : findText({}, environment, name));
  return chooseSecret('DATABASE_URL', find('databaseUrl'), find('databaseUrlFile'));
}

function parseSetting(name: SettingName, flags: Flags, environment: Environment): unknown {
  const { parse, mayHoldSecret }: Setting<unknown> = SETTINGS[name];
  const given = (name === 'databaseUrl' ? findDatabaseUrl : findText)(flags, environment, name);
  const text = rawText(name, given) ?? SETTINGS[name].fallback;
  try {
    // Settings are copied into log lines, headers and printed configurations.
    if (/\p{Cc}/u.test(text)) throw new Mistake('must not contain control characters');
    return parse(text);
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    const shown = mayHoldSecret ? '' : `, not ${JSON.stringify(text)}`;
    throw new ConfigError([`${given.label} ${error.message}${shown}`]);
  }
}

/** Undefined where the default counts. */
function rawText(name: SettingName, { text }: SettingText): string | undefined {
  const { emptyIsValue }: Setting<unknown> = SETTINGS[name];
  return text?.trim() === '' && !emptyIsValue ? undefined : text?.trim();
}

/** The settings that were given, by variable, as they were written. */
export function explicitSettings(flags: Flags, environment: Environment): Record<string, string> {
  const given = SETTING_NAMES.flatMap((name) => {
    const text = rawText(name, findText(flags, environment, name));
    return text === undefined ? [] : [[variableName(name), text]];
  });
  return Object.fromEntries(given);
}

/** Settings that exclude each other. Of two variants at one base address, one would hide users of the other. */
function clashes(config: Config): string[] {
  const mounts = listMounts(config);
  const settingName = ({ variant }: Mount) => variableName(baseUrlSetting(variant));
  const found = mounts.flatMap((one, index) =>
    mounts
      .slice(index + 1)
      .filter(({ base }) => overlaps(base, one.base))
      .map((two) => `${settingName(one)} and ${settingName(two)} claim the same address: give each its own`),
  );
  if (config.directory && !config.explorer) found.push('DIRECTORY=on needs the pages of EXPLORER=on');
  return found;
}

/** A base address without a host is served on every host. */
const overlaps = (one: BaseUrl, two: BaseUrl) =>
  one.path === two.path && (one.host === undefined || two.host === undefined || one.host === two.host);

// Environment variables that look like a setting but are none: a misspelt name would be ignored without a word.

/** Environments have many short names of their own. */
const SHORTEST = 5;

/** Beginnings that only settings of Vitrine have. Other programs have names with MAX_, LOG_, SITE_ and HOST_. */
const OWN_BEGINNINGS = [
  'BASE_URL_',
  'CACHE_',
  'CORS_',
  'DIRECTORY_',
  'EXPLORER_',
  'KEEP_ALIVE_',
  'RATE_',
  'SHUTDOWN_',
  'TAKEDOWN_',
  'TRUST_',
];

/** A sentence for each variable with nearly the name of a setting, or with a beginning that only settings have. */
export function lookalikes(environment: Environment): string[] {
  const settings = SETTING_NAMES.map(variableName);
  return Object.keys(environment).flatMap((name) => {
    if (environment[name] === undefined || settings.includes(name)) return [];
    const meant = listMeant(name, settings);
    return meant.length === 0 ? [] : [`${name} is not a setting: did you mean ${meant.join(' or ')}?`];
  });
}

/** Of the base URLs all are equally near, so all are named. */
function listMeant(name: string, settings: readonly string[]): string[] {
  const beginning = OWN_BEGINNINGS.find((own) => name.startsWith(own));
  const alike = settings.filter((known) => beginning !== undefined && known.startsWith(beginning));
  const near = beginning === 'BASE_URL_' ? undefined : nearest(name, settings, SHORTEST);
  return near === undefined ? alike : [near];
}
