// The tag of its user on an answer, by which caches are purged, so that they may keep the answer for a day.
import type { ServerResponse } from 'node:http';
import { listTagHeaders } from '../config/caches.ts';
import type { Family } from '../records/kinds.ts';
import { SITE_TAG, userTag } from '../records/user-name.ts';
import { type CacheSettings, cdnCaching, type Headers, setHeaders } from './headers.ts';

const A_DAY = '86400';

export type TagUser = ReturnType<typeof createUserTags>;

/** The function is called right before the answer is sent: no error of the server may stay in a cache. */
export function createUserTags(config: CacheSettings) {
  const names = listTagHeaders(config);
  // CACHE_CONTROL may forbid that any shared cache keeps an answer.
  const isForbidden = /private|no-store|no-cache/.test(config.cacheControl);
  const isOurs = config.purge.some(({ kind }) => kind === 'nginx');
  const life: Headers = {
    ...cdnCaching(config),
    ...(isOurs && !isForbidden && { 'x-accel-expires': A_DAY }),
  };

  /** `isLasting` says whether the answer changes only when caches are purged. */
  return function tagUser(response: ServerResponse, family: Family, userKey: string, isLasting = true): void {
    if (names.length === 0) return;
    const tags = [SITE_TAG, userTag(family, userKey)];
    for (const name of names) response.setHeader(name, tags.join(separator(name)));
    if (isLasting) setHeaders(response, life);
  };
}

/** `Cache-Tag` and its like separate tags by commas; `Surrogate-Key` and `xkey` by spaces. */
const separator = (name: string) => (/tag$/i.test(name) ? ',' : ' ');
