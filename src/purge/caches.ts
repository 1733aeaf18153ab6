// The caches of PURGE as subscribers of changes: nginx by its files, others by HTTP.
import { changedAddresses } from '../changes/addresses.ts';
import type { Delivery, Subscriber } from '../changes/notify.ts';
import type { Cache, CacheKind } from '../config/caches.ts';
import type { Config, Environment } from '../config/config.ts';
import { readToken } from '../config/secrets.ts';
import { ConfigError } from '../config/setting-values.ts';
import { SITE_TAG, userTag } from '../records/user-name.ts';
import { call } from '../remote/call.ts';
import type { ChangeSet } from '../stores/changes.ts';
import { purgeNginx } from './nginx.ts';

type Changes = ChangeSet['changes'];

/** Milliseconds until a request that began before the change is answered, and its answer stored. */
const LONGEST_ANSWER = 1000;

/** Throws if a token is missing, before anything is changed. */
export const createCaches = (config: Config, environment: Environment): Subscriber[] =>
  config.purge.map((cache) => ({
    name: cache.text,
    repeatAfter: LONGEST_ANSWER,
    deliver: cache.kind === 'nginx' ? purgeFiles(cache, config) : callService(cache, cache.kind, environment),
  }));

function listTags(changes: Changes): string[] {
  if (changes === 'everything') return [SITE_TAG];
  return changes.map(({ family, key }) => userTag(family, key));
}

/** For more users, finding out would take longer than reading the cache. */
const MOST_DIRECT = 5000;

/** The canonical addresses of the users, without hosts. */
function listPaths(config: Config, changes: Changes): string[] {
  if (changes === 'everything' || changes.length > MOST_DIRECT) return [];
  const addresses = changes.flatMap((change) => changedAddresses(config, change));
  return addresses.map((address) => address.replace(/^https?:\/\/[^/]*/, ''));
}

const purgeFiles =
  ({ place }: Cache, config: Config) =>
  ({ changes, signal }: Delivery) =>
    purgeNginx(place, { tags: listTags(changes), paths: listPaths(config, changes) }, signal);

interface Service {
  readonly url: (place: string) => string;
  /** Tags in one call, and calls in a minute, that every account may use. */
  readonly batch: number;
  readonly perMinute: number;
  /** The variable with the secret of the account, and whether it must be set. */
  readonly token: string;
  readonly needsToken: boolean;
  /** What to do if it refuses. */
  readonly remedy: string;
}

type ServiceName = Exclude<CacheKind, 'nginx'>;

export const SERVICES: Record<ServiceName, Service> = {
  // https://developers.cloudflare.com/cache/how-to/purge-cache/ (limits of the free plan)
  cloudflare: {
    url: (zone) => `https://api.cloudflare.com/client/v4/zones/${zone}/purge_cache`,
    batch: 100,
    perMinute: 5,
    token: 'CLOUDFLARE_API_TOKEN',
    needsToken: true,
    remedy: 'the token needs the permission Zone, Cache Purge, for this zone',
  },
  post: {
    url: (place) => place,
    batch: 1000,
    perMinute: Number.POSITIVE_INFINITY,
    token: 'PURGE_TOKEN',
    needsToken: false,
    remedy: 'set PURGE_TOKEN if it wants a bearer token',
  },
};

/** Sends the tags; throws unless every call is accepted. */
function callService({ place, perMinute: limit }: Cache, kind: ServiceName, environment: Environment) {
  const { url, batch, perMinute, token: variable, needsToken, remedy } = SERVICES[kind];
  const token = readToken(variable, environment);
  if (!token && needsToken)
    throw new ConfigError([`PURGE needs a token: set ${variable} or ${variable}_FILE`]);
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  // Caches are purged twice in the same minute. What needs more calls than that becomes one call.
  const mostCalls = Math.max(1, (limit ?? perMinute) / 2);

  return async ({ changes, ...delivery }: Delivery): Promise<void> => {
    const tags = listTags(changes);
    const parts = Array.from({ length: Math.ceil(tags.length / batch) }, (_, nr) =>
      tags.slice(nr * batch, (nr + 1) * batch),
    );
    for (const part of parts.length > mostCalls ? [[SITE_TAG]] : parts) {
      const body = JSON.stringify({ tags: part });
      await call({ method: 'POST', url: url(place), headers, body, remedy }, delivery);
    }
  };
}
