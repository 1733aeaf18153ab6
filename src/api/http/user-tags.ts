// The tag of its user on an answer, by which the caches of PURGE are purged, so that they may keep the answer for a day.

import type { FastifyReply } from 'fastify';
import type { Family } from '../../records/kinds.ts';
import { SITE_TAG, userTag } from '../../records/user-name.ts';
import { allowsSharedCaching } from './cache-control.ts';
import type { CacheSettings, Headers } from './headers.ts';

const A_DAY = 86_400;

export type TagUser = ReturnType<typeof createUserTags>;

/** The function is called right before the answer is sent: no error of the server may stay in a cache. */
export function createUserTags({ cacheControl, purge }: CacheSettings) {
  const kinds = purge.map(({ kind }) => kind);
  const longCaching: Headers = allowsSharedCaching(cacheControl)
    ? {
        ...(kinds.includes('nginx') && { 'x-accel-expires': `${A_DAY}` }),
        // CDNs follow it instead of Cache-Control (RFC 9213).
        ...(kinds.some((kind) => kind !== 'nginx') && { 'cdn-cache-control': `max-age=${A_DAY}` }),
      }
    : {};

  /** `isLasting`: every change of the answer is followed by a purge, so caches may keep it for a day. */
  return function tagUser(reply: FastifyReply, family: Family, userKey: string, isLasting = true): void {
    if (kinds.length === 0) return;
    reply.header('cache-tag', `${SITE_TAG},${userTag(family, userKey)}`);
    if (isLasting) reply.headers(longCaching);
  };
}
