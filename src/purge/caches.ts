// The caches of PURGE as subscribers of changes.
import type { Cache } from '../config/caches.ts';
import { ConfigError, type Environment } from '../config/config.ts';
import { readToken } from '../config/secrets.ts';
import { Mistake } from '../config/setting-values.ts';
import { SITE_TAG, userTag } from '../records/user-name.ts';
import type { UntoldNews } from '../stores/changes.ts';
import { purgeNginx } from './nginx.ts';
import { createProvider, PROVIDERS } from './providers.ts';

type News = Pick<UntoldNews['news'][number], 'changes'>;

/** Milliseconds until a request that began before the change is answered, and its answer stored. */
const UNDER_WAY = 1000;

/** Throws if a token is missing, before anything is changed. */
export const createCaches = (caches: readonly Cache[], environment: Environment) =>
  caches.map((cache) => {
    const purge = createPurge(cache, environment);
    return {
      name: cache.text,
      repeatAfter: UNDER_WAY,
      async tell({ changes }: News, signal: AbortSignal): Promise<void> {
        const tags = listTags(changes);
        if (tags.length > 0) await purge(tags, signal);
      },
    };
  });

function listTags(changes: News['changes']): string[] {
  if (changes === 'everything') return [SITE_TAG];
  return changes.map(({ family, key }) => userTag(family, key));
}

function createPurge(cache: Cache, environment: Environment) {
  const { kind, place } = cache;
  if (kind === 'nginx')
    return (tags: readonly string[], signal: AbortSignal) => purgeNginx(place, tags, signal);
  return createProvider(kind, cache, findToken(PROVIDERS[kind], environment));
}

type Secret = Pick<(typeof PROVIDERS)[keyof typeof PROVIDERS], 'token' | 'isOpen'>;

function findToken({ token, isOpen }: Secret, environment: Environment): string {
  try {
    const found = token && readToken(token, environment);
    if (!found && !isOpen) throw new Mistake(`PURGE needs a token: set ${token} or ${token}_FILE`);
    return found ?? '';
  } catch (error) {
    throw error instanceof Mistake ? new ConfigError([error.message]) : error;
  }
}
