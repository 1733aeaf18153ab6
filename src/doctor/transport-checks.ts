// How requests travel: connections, the protocol between proxy and Vitrine, and which address of the client Vitrine sees.
import { RECEIVED_OVER } from '../http/observations.ts';
import { broken, type Check, ok, suggestion, unclear } from './check.ts';
import { type ExaminedSite, isPrivate } from './site.ts';

const connections: Check = {
  name: 'connections',
  advice: 'Keep the connections of clients open.',
  async run({ send, profile }) {
    for (let tries = 0; tries < 3; tries++)
      if (!/\bclose\b/i.test((await send(profile)).headers.connection ?? '')) return ok('are kept open');
    return broken('are closed after every response: each request waits for a new one');
  },
};

const upstream: Check = {
  name: 'HTTP to Vitrine',
  advice: 'Speak HTTP/1.1 with Vitrine, over connections that are kept open.',
  ofProxy: true,
  async run({ send, given }) {
    // The probe is at the root; a proxy that removes the prefix serves it below.
    for (const path of new Set(['/healthz', `${given}/healthz`])) {
      const version = (await send(path)).headers[RECEIVED_OVER];
      if (version === '1.0')
        return broken('the proxy speaks HTTP/1.0 with Vitrine: every request takes a new connection');
      if (version !== undefined) return ok(`HTTP/${version}`);
    }
    return unclear('/healthz of Vitrine is not public');
  },
};

/** Enough for the allowance to be lower than that of a client that has just come. */
const REQUESTS_BEFORE = 3;

const clientAddress: Check = {
  name: 'client address',
  advice:
    'Set X-Forwarded-For in the proxy, and set TRUST_PROXY to the address from which the proxy connects, and to no other.',
  ofProxy: true,
  async run(site) {
    let before: number | undefined;
    for (let request = 0; request < REQUESTS_BEFORE; request++) before = await allowance(site, request);
    const forged = await allowance(site, 'forged', { 'x-forwarded-for': unusedAddress() });
    const after = await allowance(site, 'after');
    if (before === undefined || forged === undefined || after === undefined)
      return unclear('TRUST_PROXY shows only where RATE_LIMIT is set: compare `client` in the access log');
    if (forged > before && after < before) return believesAnybody(site);
    if (before - after > 2)
      return suggestion(
        'requests of others count as ours: they share this address, or TRUST_PROXY does not name the proxy',
      );
    return unclear('a forged X-Forwarded-For is not believed; whether the proxy is, only its log shows');
  },
};

/** The requests that Vitrine still allows us, as its RateLimit header says. No cache has the response yet. */
async function allowance(
  { send, lookups, nobody }: ExaminedSite,
  suffix: string | number,
  headers?: Record<string, string>,
): Promise<number | undefined> {
  const response = await send(lookups(`${nobody}-${suffix}`).profile, headers);
  const remaining = /\br=(\d+)/.exec(response.all('ratelimit').join())?.[1];
  return remaining === undefined ? undefined : Number(remaining);
}

/** Of a network for documentation (RFC 5737). */
const unusedAddress = () => `203.0.113.${1 + Math.floor(Math.random() * 254)}`;

function believesAnybody({ origin: { hostname } }: ExaminedSite) {
  const text = 'Vitrine believes an X-Forwarded-For that the client sent';
  // From the machine of the proxy, the client is one of those that may say so.
  if (isPrivate(hostname)) return suggestion(`${text}, but from here that may be right: run this elsewhere`);
  return broken(`${text}: TRUST_PROXY names more than the proxy, or the proxy passes the header on`);
}

const schemeAndHost: Check = {
  name: 'scheme and host',
  advice: 'Set X-Forwarded-Proto and Host to those of the request.',
  ofProxy: true,
  run: async () =>
    unclear(
      'X-Forwarded-Proto shows only as `protocol` in the access log, a lost Host only where a base URL names one',
    ),
};

export const TRANSPORT_CHECKS: readonly Check[] = [connections, upstream, clientAddress, schemeAndHost];
