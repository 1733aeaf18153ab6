// Every setting in one table: default, parser, meaning.
import { keysOf } from '../records/tables.ts';
import { VARIANT_NAMES, VARIANTS, type Variant } from '../variants.ts';
import { databaseUrl, folder, type ServedFiles } from './database-url.ts';
import type { BaseUrl, Mount } from './mount.ts';
import {
  absoluteUrl,
  accent,
  address,
  addressOrSocket,
  baseUrl,
  between,
  caches,
  duration,
  headerText,
  logo,
  networks,
  oneOf,
  onOff,
  optional,
  origins,
  port,
  rate,
  type Setting,
  setting,
  siteLanguage,
  siteName,
  userNames,
  webUrls,
  whole,
  workerCount,
} from './setting-values.ts';

type BaseUrlSetting = `baseUrl${Uppercase<Variant>}`;

// TypeScript knows of toUpperCase() only that it gives a text.
export const baseUrlSetting = (variant: Variant) => `baseUrl${variant.toUpperCase()}` as BaseUrlSetting;

/** BASE_URL_A and so on: one setting for each variant. */
function baseUrlSettings(): Record<BaseUrlSetting, Setting<BaseUrl | undefined>> {
  const settings = VARIANT_NAMES.map((variant) => {
    const meaning = `base URL of variant ${variant.toUpperCase()}, as a path, or as a URL for one host only. Empty turns the variant off`;
    return [baseUrlSetting(variant), setting(`/${variant}`, baseUrl, meaning, { emptyIsValue: true })];
  });
  return Object.fromEntries(settings);
}

const SECRET = { mayHoldSecret: true };

export const SETTINGS = {
  databaseUrl: setting(
    '',
    optional(databaseUrl),
    'path of a SQLite file, or a `postgres://` URL. `serve` needs it, or files, or `--samples`',
    SECRET,
  ),
  databaseUrlFile: setting(
    '',
    optional((text) => text),
    'file that holds `DATABASE_URL`, such as a mounted secret',
  ),
  snapshotDir: setting(
    '',
    optional(folder),
    'folder of the snapshots of `vitrine snapshot --keep`, for the alert on old ones',
  ),
  mediaDir: setting(
    '',
    optional(folder),
    'folder of copied pictures. With the SQLite file `site.db`, the default is `site.db.media` beside it',
  ),
  mediaUrl: setting(
    '',
    optional(absoluteUrl),
    'public URL of copied pictures. If a base URL names a host, the default is `/media` on the first such host. Otherwise only this machine reaches the default, which has the port of `PORT`',
  ),
  host: setting(
    '127.0.0.1',
    addressOrSocket,
    'address to listen on, or the path of a unix socket. `::` means every IPv4 and IPv6 address',
  ),
  port: setting('8080', port, 'port to listen on'),
  ...baseUrlSettings(),
  workers: setting(
    '1',
    workerCount,
    'processes that share the port, or `auto` for one per core. Memory and rate limits apply to each process',
  ),
  adminHost: setting('127.0.0.1', address, 'address of the admin port'),
  adminPort: setting('', optional(port), 'port for `/metrics`, `/healthz` and `/readyz`'),
  cacheControl: setting(
    'public, max-age=15, stale-while-revalidate=30, stale-if-error=86400',
    headerText,
    '`Cache-Control` of successful responses of the API, feeds, cards and pages of people. With files or `--samples`, the default is `no-cache`',
  ),
  purge: setting(
    '',
    caches,
    'caches to purge of what changed, such as `nginx:/var/cache/vitrine`. They keep responses about users for a day',
    SECRET,
  ),
  notify: setting('', webUrls, 'URLs that get a `POST` after each change of the data', SECRET),
  notifyFile: setting(
    '',
    optional((text) => text),
    'file that holds `NOTIFY`, if its URLs are secret',
  ),
  takedownStatus: setting(
    '404',
    oneOf('404', '410'),
    'status for users who were taken down, `404` as for unknown users, or `410`',
  ),
  corsOrigin: setting('*', origins, 'origins whose pages may read responses, as `*`, `none`, or a list'),
  trustProxy: setting(
    '',
    networks,
    'addresses of the proxy, whose `X-Forwarded-*` and `X-Request-Id` then count. Networks, `loopback`, `linklocal` and `uniquelocal` work, too',
  ),
  rateLimit: setting('', optional(rate), 'requests allowed per client and period, such as `600/1m`'),
  rateLimitExempt: setting('', networks, 'addresses and networks of clients that have no rate limit'),
  explorer: setting(
    'on',
    onOff,
    '`on` or `off` for all pages, which are the explorer at `/` and `/explore`, the reference at `/docs`, and pages of people',
  ),
  directory: setting(
    'off',
    onOff,
    '`on` or `off` for a list of all people at `/` with a search, and for sitemaps. It needs `EXPLORER=on`',
  ),
  exampleUsers: setting(
    'auto',
    userNames,
    'users that the explorer and the reference begin with, as `auto` (the five lowest ids of each family), `none`, or a list of names',
  ),
  imageHosts: setting(
    '*',
    origins,
    'origins from which pages load pictures that have no copy, as `*`, `none`, or a list',
  ),
  siteLanguage: setting(
    'en',
    siteLanguage,
    'language of the pages of people, the directory, feeds, cards and error pages, as `en`, `ar`, `de`, `es`, `fr`, `it`, `ja`, `nl`, `pl`, `pt`, `sv` or `tr`',
  ),
  siteName: setting('Vitrine', siteName, 'name of the site, on pages, feeds and in link previews'),
  siteLogo: setting(
    '',
    optional(logo),
    'logo, as an SVG, PNG, WebP or JPEG file of at most 256 KiB, or a URL',
  ),
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
    'time to receive a whole request. Its headers have 10 seconds at most',
  ),
  keepAliveTimeout: setting(
    '65s',
    duration,
    'time an idle connection stays open. It must be longer than the proxy in front keeps it',
  ),
  writeTimeout: setting(
    '30s',
    duration,
    'time in which a client must take some bytes of a response. `0` sets no limit',
  ),
  maxConnections: setting(
    '10000',
    between(whole, 1, 1_000_000),
    'most open connections, as far as memory and open files allow. A new connection then closes the one that is idle longest',
  ),
  maxLoopDelay: setting('500ms', duration, 'requests that waited longer than this get 503. `0` means never'),
  logLevel: setting(
    'info',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`',
  ),
  accessLog: setting('off', onOff, '`on` or `off` for a log line of each request'),
  slowRequest: setting('250ms', duration, 'requests that take longer than this are logged. `0` logs none'),
  shutdownDelay: setting('0s', duration, 'time to go on serving after SIGTERM while `/readyz` is 503'),
  shutdownGrace: setting('5s', duration, 'time for requests in flight to finish after `SHUTDOWN_DELAY`'),
} satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof SETTINGS;
/** Settings that may be in a file, and the setting that names it. */
export const SETTING_FILES: Partial<Record<SettingName, SettingName>> = {
  databaseUrl: 'databaseUrlFile',
  notify: 'notifyFile',
};
export type Values = { readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['parse']> };
export type Config = Values & ServedFiles & { readonly rehearsal?: Rehearsal };
/** What `serve --rehearse` was given. */
export type Rehearsal = Readonly<{ delay: string | undefined; fail: string | undefined; seed: number }>;
export const SETTING_NAMES = keysOf(SETTINGS);

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

/** The environment variable of a setting: `baseUrlA` is `BASE_URL_A`. */
export const variableName = (name: SettingName) =>
  name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
/** The command-line flag of a setting: `baseUrlA` is `--base-url-a`. */
export const flagName = (name: SettingName) => `--${variableName(name).toLowerCase().replaceAll('_', '-')}`;
