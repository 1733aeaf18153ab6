// What configurations of other programs are made from: the settings in force, as those programs need them.
import { isIPv6 } from 'node:net';
import { isAbsolute, join } from 'node:path';
import { allowsStale } from '../../api/http/cache-control.ts';
import { isPostgresUrl } from '../../config/database-url.ts';
import { findMediaFolder } from '../../config/media.ts';
import { type Config, listMounts } from '../../config/settings.ts';
import { isInQuery, VARIANTS } from '../../variants.ts';

export type PrintInput = ReturnType<typeof createPrintInput>;

/** The home of the service, where relative paths begin. */
export const STATE = '/var/lib/vitrine';
/** The placeholder where no base URL names a host. */
const EXAMPLE_NAME = 'profiles.example.org';
/** Settings that each configuration writes itself. */
const OWN = [
  'DATABASE_URL',
  'DATABASE_URL_FILE',
  'HOST',
  'PORT',
  'ADMIN_HOST',
  'ADMIN_PORT',
  'TRUST_PROXY',
  'NOTIFY',
  'NOTIFY_FILE',
];

/** `given` are the settings that were given, by variable, as texts. */
export function createPrintInput(config: Config, given: Readonly<Record<string, string>>) {
  const { databaseUrl = 'site.db' } = config;
  const hasWebhooks = config.notify.length > 0 || config.notifyFile !== undefined;
  const mediaDir = findMediaFolder({ ...config, databaseUrl });
  const mounts = listMounts(config);
  const origins = mounts.flatMap(({ base: { origin } }) => (origin === undefined ? [] : [new URL(origin)]));
  const names = [...new Set(origins.map(({ hostname }) => hostname))];
  const https = origins.length > 0 && origins.every(({ protocol }) => protocol === 'https:');
  const listened = origins.filter(({ protocol }) => https || protocol === 'http:');
  return {
    config,
    ...describeServer(config),
    /** Undefined if it was not given. */
    trustProxy: given.TRUST_PROXY,
    /** Of the base URLs that name a host. */
    origins,
    /** The public host names. */
    names: names.length === 0 ? [EXAMPLE_NAME] : names,
    /** Whether base URLs name them. */
    isNamed: names.length > 0,
    /** The same with the ports that base URLs name. */
    hosts: names.length === 0 ? [EXAMPLE_NAME] : [...new Set(origins.map(({ host }) => host))],
    /** The public ports. */
    ports:
      listened.length === 0
        ? ['80']
        : [...new Set(listened.map(({ port }) => port || (https ? '443' : '80')))],
    /** The base paths of the variants that have the user in the query. */
    queryBases: mounts.flatMap(({ variant, base }) =>
      isInQuery(VARIANTS[variant].style) ? [base.path] : [],
    ),
    /** Whether every base URL that names a host begins with https. */
    https,
    corsOrigin: config.corsOrigin,
    /** The memory that the server needs, with an import beside it, in MiB. */
    memory: memoryFor(config),
    /** Seconds, all of them. */
    keepAlive: Math.ceil(config.keepAliveTimeout / 1000),
    stopTime: Math.ceil((config.shutdownDelay + config.shutdownGrace) / 1000) + 5,
    /** Whether Cache-Control lets caches serve stale responses while the server is down. */
    mayBeStale: allowsStale(config.cacheControl),
    /** Whether commands notify caches or programs of changes, and whether they purge nginx. */
    notifies: config.purge.length > 0 || hasWebhooks,
    purgesNginx: config.purge.some(({ kind }) => kind === 'nginx'),
    /** The folder of nginx's cache. */
    nginxCache: config.purge.find(({ kind }) => kind === 'nginx')?.place ?? '/var/cache/vitrine',
    /** Undefined for PostgreSQL: its URL is a secret. */
    file: isPostgresUrl(databaseUrl) ? undefined : databaseUrl,
    /** Settings that are not printed, because they hold secrets: their variables, and the names of their files. */
    secrets: [
      ...(isPostgresUrl(databaseUrl) ? [{ variable: 'DATABASE_URL', name: 'database-url' }] : []),
      ...(hasWebhooks ? [{ variable: 'NOTIFY', name: 'notify' }] : []),
    ],
    /** The absolute path of the folder of copied pictures, if there is one. */
    mediaDir: mediaDir && (isAbsolute(mediaDir) ? mediaDir : join(STATE, mediaDir)),
    /** The settings that differ from their defaults, apart from those above: name and text. */
    others: Object.entries(given).filter(([name]) => !OWN.includes(name)),
  };
}

/** Where the server is reached. */
const describeServer = (config: Config) => ({
  /** The path of the unix socket that the server listens on, if it is one. */
  socket: config.host.startsWith('/') ? config.host : undefined,
  /** Address and port under which a program on the same machine reaches the server. */
  host: reachable(config.host),
  port: config.port,
  adminPort: config.adminPort,
  /** The admin port if it is reached under the same address as the server, for programs that check both there. */
  checkPort: reachable(config.adminHost) === reachable(config.host) ? config.adminPort : undefined,
});

/** MiB: of an idle process 48 were measured, of a busy worker up to 90. */
const [PER_WORKER, FOR_PARENT, FOR_IMPORT] = [128, 64, 128];

/** Several workers have a parent process. */
const memoryFor = ({ workers }: Config) => workers * PER_WORKER + (workers > 1 ? FOR_PARENT : 0) + FOR_IMPORT;

/** A server that listens on every address is reached at this machine's own. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return isIPv6(host) ? `[${host}]` : host;
}

const ADMIN_PORT = 9090;

/** In a container both ports are on every address, so they must differ. */
export const containerAdminPort = ({ port, adminPort = ADMIN_PORT }: PrintInput) =>
  adminPort === port ? adminPort + 1 : adminPort;

/** Where a folder of pictures that was set is mounted in a container; the one by default lies beside the file. */
export const MEDIA_MOUNT = '/media';

/** The folder of pictures if it was set. */
export const mountedMedia = ({ others, mediaDir }: PrintInput) =>
  others.some(([name]) => name === 'MEDIA_DIR') ? mediaDir : undefined;

/** The settings in a container, where secrets are files in this folder. */
export const containerSettings = (input: PrintInput, folder: string) => {
  const { port, file, secrets, others } = input;
  const settings: (readonly [name: string, text: string])[] = [
    ['HOST', '0.0.0.0'],
    ['PORT', String(port)],
    // The image sets DATABASE_URL: empty, it leaves the word to the file.
    ['DATABASE_URL', file === undefined ? '' : '/data/site.db'],
    ...secrets.map(({ variable, name }) => [`${variable}_FILE`, `${folder}/${name}`] as const),
    ['ADMIN_HOST', '0.0.0.0'],
    ['ADMIN_PORT', String(containerAdminPort(input))],
    ...others.map(([name, text]) => [name, name === 'MEDIA_DIR' ? MEDIA_MOUNT : text] as const),
  ];
  return settings;
};

/** How long a proxy may keep a connection to the server: a little less than the server does. */
export const proxyKeepAlive = ({ keepAlive }: PrintInput) => Math.max(Math.min(60, keepAlive - 5), 1);

/** A line of the configuration for each text, or nothing at all. */
export const lines = (texts: readonly string[], indent = '') =>
  texts.map((text) => `${indent}${text}\n`).join('');
