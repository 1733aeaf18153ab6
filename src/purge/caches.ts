// The caches of PURGE as subscribers of changes.
import { changedAddresses } from '../changes/addresses.ts';
import type { Cache } from '../config/caches.ts';
import type { Config, Environment } from '../config/config.ts';
import { readToken } from '../config/secrets.ts';
import { ConfigError } from '../config/setting-values.ts';
import { SITE_TAG, userTag } from '../records/user-name.ts';
import type { News } from '../stores/changes.ts';
import { purgeNginx } from './nginx.ts';
import { createProvider, PROVIDERS } from './providers.ts';

type Changes = News['changes'];

/** Milliseconds until a request that began before the change is answered, and its answer stored. */
const LONGEST_ANSWER = 1000;

/** Throws if a token is missing, before anything is changed. */
export const createCaches = (config: Config, environment: Environment) =>
  config.purge.map((cache) => {
    const purge = createPurge(cache, config, environment);
    return {
      name: cache.text,
      repeatAfter: LONGEST_ANSWER,
      tell: ({ changes }: Pick<News, 'changes'>, signal: AbortSignal) => purge(changes, signal),
    };
  });

function listTags(changes: Changes): string[] {
  if (changes === 'everything') return [SITE_TAG];
  return changes.map(({ family, key }) => userTag(family, key));
}

/** For more users, finding out would take longer than reading the cache. */
const MOST_USUAL = 5000;

/** The usual addresses of the users, without hosts. */
function listPaths(config: Config, changes: Changes): string[] {
  if (changes === 'everything' || changes.length > MOST_USUAL) return [];
  const addresses = changes.flatMap((change) => changedAddresses(config, change));
  return addresses.map((address) => address.replace(/^https?:\/\/[^/]*/, ''));
}

function createPurge({ kind, place, perMinute }: Cache, config: Config, environment: Environment) {
  if (kind === 'nginx')
    return (changes: Changes, signal: AbortSignal) =>
      purgeNginx(place, { tags: listTags(changes), paths: listPaths(config, changes) }, signal);
  const send = createProvider(kind, { place, perMinute }, findToken(PROVIDERS[kind], environment));
  return (changes: Changes, signal: AbortSignal) => send(listTags(changes), signal);
}

type Secret = Pick<(typeof PROVIDERS)[keyof typeof PROVIDERS], 'token' | 'needsToken'>;

function findToken({ token, needsToken }: Secret, environment: Environment): string {
  const found = token && readToken(token, environment);
  if (!found && needsToken) throw new ConfigError([`PURGE needs a token: set ${token} or ${token}_FILE`]);
  return found ?? '';
}
