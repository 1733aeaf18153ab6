// Caches that are told by HTTP: what a call to each of them looks like, and how many there may be.
import { setTimeout as delay } from 'node:timers/promises';
import { BAN_HEADER, type Cache, type CacheKind } from '../config/caches.ts';
import { SITE_TAG } from '../records/user-name.ts';
import { type Call, call } from '../remote/call.ts';

interface Provider {
  /** Tags in one call, and calls in a minute, that every account may use. */
  readonly batch: number;
  readonly perMinute: number;
  /** The variable with the secret of the account, if there are secrets; whether it must be set. */
  readonly token?: string;
  readonly needsToken: boolean;
  /** What to do if it refuses. */
  readonly remedy: string;
  createCall(place: string, tags: readonly string[], token: string): Call;
}

const post = (url: string, body: object, headers: Record<string, string>): Call => ({
  method: 'POST',
  url,
  body: JSON.stringify(body),
  headers: { ...headers, 'content-type': 'application/json' },
});
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

type ProviderName = Exclude<CacheKind, 'nginx'>;

export const PROVIDERS: Record<ProviderName, Provider> = {
  varnish: {
    batch: 250,
    perMinute: Number.POSITIVE_INFINITY,
    needsToken: false,
    remedy:
      'give it what `vitrine print varnish` prints with the same PURGE, and allow this address in `acl purgers`',
    createCall: (url, tags) => ({
      method: 'BAN',
      url,
      headers: { [BAN_HEADER.toLowerCase()]: tags.join('|') },
    }),
  },
  // https://developers.cloudflare.com/cache/how-to/purge-cache/ (limits of the free plan)
  cloudflare: {
    batch: 100,
    perMinute: 5,
    token: 'CLOUDFLARE_API_TOKEN',
    needsToken: true,
    remedy: 'the token needs the permission Zone, Cache Purge, for this zone',
    createCall: (zone, tags, token) =>
      post(`https://api.cloudflare.com/client/v4/zones/${zone}/purge_cache`, { tags }, bearer(token)),
  },
  // https://www.fastly.com/documentation/reference/api/purging/
  fastly: {
    batch: 256,
    perMinute: 60,
    token: 'FASTLY_API_TOKEN',
    needsToken: true,
    remedy: 'the token needs the scope purge_select for this service',
    createCall: (service, tags, token) =>
      post(
        `https://api.fastly.com/service/${service}/purge`,
        { surrogate_keys: tags },
        { 'fastly-key': token },
      ),
  },
  // https://docs.netlify.com/build/caching/caching-overview/
  netlify: {
    batch: 100,
    perMinute: 20,
    token: 'NETLIFY_AUTH_TOKEN',
    needsToken: true,
    remedy: 'the token must belong to a member of the team that has the site',
    createCall: (site, tags, token) =>
      post('https://api.netlify.com/api/v1/purge', { site_id: site, cache_tags: tags }, bearer(token)),
  },
  post: {
    batch: 1000,
    perMinute: Number.POSITIVE_INFINITY,
    token: 'PURGE_TOKEN',
    needsToken: false,
    remedy: 'set PURGE_TOKEN if it wants a bearer token',
    createCall: (url, tags, token) => post(url, { tags }, token === '' ? {} : bearer(token)),
  },
};

const A_MINUTE = 60_000;

/** Tells a provider of tags; throws unless it has accepted every call. */
export function createProvider(
  kind: ProviderName,
  { place, perMinute: limit }: Pick<Cache, 'place' | 'perMinute'>,
  token: string,
) {
  const { batch, createCall, remedy, ...usual } = PROVIDERS[kind];
  const perMinute = limit ?? usual.perMinute;
  const sent: number[] = [];

  async function waitForTurn(signal: AbortSignal): Promise<void> {
    const [earliest = 0] = sent.length < perMinute ? [] : sent.splice(0, 1);
    const wait = earliest + A_MINUTE - performance.now();
    if (earliest > 0 && wait > 0) await delay(wait, undefined, { signal });
    sent.push(performance.now());
  }

  return async (tags: readonly string[], signal: AbortSignal): Promise<void> => {
    const batches = Array.from({ length: Math.ceil(tags.length / batch) }, (_, nr) =>
      tags.slice(nr * batch, (nr + 1) * batch),
    );
    // Caches are told twice in the same minute. What needs more calls than that is told by one.
    const calls = batches.length > Math.max(1, perMinute / 2) ? [[SITE_TAG]] : batches;
    for (const part of calls) {
      await waitForTurn(signal);
      await call({ ...createCall(place, part, token), remedy }, signal);
    }
  };
}
