// Whether a response comes back as Vitrine sent it: its type, its errors, who may read it; and the pictures that it names.
import { RECEIVED_OVER, WORTH_COMPRESSING } from '../../api/http/headers.ts';
import { COPY_FILE_NAME, copyType } from '../../records/copy-files.ts';
import type { HttpResponse } from '../remote/http-client.ts';
import {
  broken,
  type Check,
  type ExaminedSite,
  type Finding,
  isPrivate,
  isProfile,
  ok,
  quoted,
  readCode,
  suggestion,
  unclear,
} from './site.ts';

const type: Check = {
  name: 'content type',
  advice: 'Remove what sets Content-Type or rewrites bodies.',
  async run({ send, profile }) {
    const type = (await send(profile)).all('content-type').join(', ');
    if (!/^application\/json\s*(;|$)/i.test(type)) return broken(`is ${quoted(type)}, not application/json`);
    if (!/charset="?utf-8/i.test(type)) return broken(`${quoted(type)} lacks charset=utf-8`);
    return ok(type);
  },
};

const errors: Check = {
  name: 'error bodies',
  advice: "Pass Vitrine's errors on: no proxy_intercept_errors (nginx), no handle_response (Caddy).",
  async run({ send, absent, withoutUser }) {
    const cases = [
      { response: await send(absent), status: 404, what: 'an unknown user' },
      { response: await send(withoutUser), status: 400, what: 'a request without a user' },
    ];
    for (const { response, status, what } of cases) {
      if (response.status !== status && (readCode(response) !== undefined || isProfile(response)))
        return unclear('the request does not arrive as it was sent: see encoded names and query');
      if (response.status !== status) return broken(`${what} gets ${response.status} instead of ${status}`);
      if (readCode(response) === undefined)
        return broken(
          `${what} (${status}) gets a page of the proxy instead of JSON: ${quoted(String(response.body).trim())}`,
        );
    }
    return ok('404 and 400 have the JSON body of Vitrine');
  },
};

const ALLOW_ORIGIN = 'access-control-allow-origin';

const cors: Check = {
  name: 'CORS',
  advice:
    'Remove whatever adds, sets or hides Access-Control-… headers, and pass OPTIONS on: Vitrine sends them with every status, as its setting CORS_ORIGIN says.',
  async run(site) {
    const responses = await responsesByStatus(site);
    let isBare304 = false;
    for (const { status, all } of responses) {
      const allowed = all(ALLOW_ORIGIN);
      if (allowed.length === 0 && status === 304) isBare304 = true;
      else if (allowed.length === 0)
        return broken(`${ALLOW_ORIGIN} is missing from ${status}: pages of other origins cannot read it`);
      if (allowed.length > 1 || allowed[0]?.includes(','))
        return broken(
          `${ALLOW_ORIGIN} comes twice with ${status}, ${quoted(allowed.join(', '))}: browsers refuse that`,
        );
    }
    const exposed = responses[0]?.all('access-control-expose-headers').join() ?? '';
    if (!/\betag\b|\*/i.test(exposed))
      return broken('pages cannot read the ETag: access-control-expose-headers does not name it');
    const { send, profile } = site;
    const asked = {
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'if-none-match',
    };
    const { status, all } = await send(profile, asked, 'OPTIONS');
    if (status >= 300) return broken(`a preflight (OPTIONS) gets ${status}`);
    if (all(ALLOW_ORIGIN).length !== 1) return broken(`a preflight (OPTIONS) lacks ${ALLOW_ORIGIN}`);
    // RFC 9110, 15.4.5. Browsers then read the headers of the response that they have stored.
    if (isBare304)
      return ok(`pages of any origin can read successes and errors, and 304 from what they stored`);
    return ok('pages of any origin can read successes, 304 and errors');
  },
};

/** A response of each status that a page can meet; the success first, where a user is known. */
async function responsesByStatus({
  send,
  profile,
  absent,
  withoutUser,
}: ExaminedSite): Promise<HttpResponse[]> {
  const first = await send(profile);
  const { etag } = first.headers;
  const again = etag === undefined ? [] : [await send(profile, { 'if-none-match': etag })];
  return [first, ...again, await send(absent), await send(withoutUser)];
}

const compression: Check = {
  name: 'compression',
  advice:
    'Vitrine compresses lists, scripts and styles for clients that ask: pass Accept-Encoding on, and have a cache follow Vary: Accept-Encoding; or ask for gzip and unpack for the few clients that cannot. Let the proxy compress pages of people and feeds.',
  needsUser: true,
  async run({ send, profile, items, user }) {
    const list = await send(items);
    const isLong = list.body.length >= WORTH_COMPRESSING;
    const packed = await send(isLong ? items : profile, { 'accept-encoding': 'gzip' });
    const encoding = packed.headers['content-encoding'];
    if (encoding === undefined)
      return packed.body.length < WORTH_COMPRESSING
        ? ok(`the data of ${quoted(user)} is too short to be worth compressing`)
        : broken(`${packed.body.length} bytes are sent uncompressed; gzip would save most of them`);
    if (list.headers['content-encoding'] !== undefined)
      return broken('responses are compressed for clients that do not accept it, too');
    if (!/accept-encoding|\*/i.test(packed.all('vary').join()))
      return broken(
        'Vary: Accept-Encoding is missing: a cache would send compressed responses to clients that do not accept them',
      );
    if (isLong && packed.headers.etag?.startsWith('W/'))
      return suggestion('the proxy compresses each answer again, although Vitrine has it compressed');
    return ok(`${encoding}, for clients that accept it`);
  },
};

const COPY = new RegExp(COPY_FILE_NAME);

const pictures: Check = {
  name: 'pictures',
  advice:
    'Pass /media/ on like everything else, or serve it as printed. Missing files: `vitrine media check`. Another public address: set MEDIA_URL, then `vitrine media relink`.',
  needsUser: true,
  async run({ send, profile, items, user, base }) {
    const url = copyIn(await send(profile)) ?? copyIn(await send(items));
    if (url === undefined) return ok(`the data of ${quoted(user)} names no copied pictures`);
    if (url.origin !== base.origin) return judgeOrigin(url, base);
    return judgeCopy(await send(url.pathname, { accept: 'image/*' }, 'HEAD'), url);
  },
};

/** The first URL in a body that ends as those of copies do. */
const copyIn = (response: HttpResponse): URL | undefined =>
  [...String(response.body).matchAll(/"(https?:[^"\\]+)"/g)]
    .flatMap(([, text = '']) => URL.parse(text) ?? [])
    .find((url) => COPY.test(fileName(url)));

const fileName = ({ pathname }: URL) => pathname.slice(pathname.lastIndexOf('/') + 1);

/** Only the address under examination is asked. */
function judgeOrigin(url: URL, { protocol, hostname }: ExaminedSite['base']): Finding {
  if (isPrivate(url.hostname) && !isPrivate(hostname))
    return broken(`copies are named under ${quoted(url.origin)}, which visitors cannot reach`);
  if (url.protocol === 'http:' && protocol === 'https:')
    return broken(`copies are named under ${quoted(url.origin)}: pages of https may not load them`);
  return unclear(`copies are at ${quoted(url.origin)}, which was not asked`);
}

function judgeCopy({ status, headers, all }: HttpResponse, url: URL): Finding {
  if (status !== 200) return broken(`a copy gets ${status}: ${quoted(url.href)}`);
  const type = copyType(fileName(url));
  if (headers['content-type'] !== type)
    return broken(`a copy is ${quoted(headers['content-type'])}, not ${type}`);
  const caching = all('cache-control').join(', ');
  if (!/\bimmutable\b/i.test(caching) || /no-store|no-cache|private/i.test(caching))
    return broken(`Cache-Control of a copy is ${quoted(caching)}: browsers fetch it again and again`);
  if (!/\bnosniff\b/i.test(all('x-content-type-options').join()))
    return broken('X-Content-Type-Options: nosniff is missing: browsers may take a copy for a page');
  if (!/\bsandbox\b/i.test(all('content-security-policy').join()))
    return broken('Content-Security-Policy with sandbox is missing: scripts in an SVG run');
  return ok('copies arrive as they were sent');
}

export const RESPONSE_CHECKS: readonly Check[] = [type, errors, cors, compression, pictures];

// How requests travel: connections, the protocol between proxy and Vitrine, and which address of the client Vitrine sees.

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
    if (forged > before && after < before) return trustsClients(site);
    if (before - after > 2)
      return suggestion(
        'requests of others count as ours: they share this address, or TRUST_PROXY does not name the proxy',
      );
    return unclear('a forged X-Forwarded-For is not believed; whether the proxy is, only its log shows');
  },
};

/** The requests that Vitrine still allows us, as its RateLimit header says. No cache has the response yet. */
async function allowance(
  { send, lookups, unusedName }: ExaminedSite,
  suffix: string | number,
  headers?: Record<string, string>,
): Promise<number | undefined> {
  const response = await send(lookups(`${unusedName}-${suffix}`).profile, headers);
  const remaining = /\br=(\d+)/.exec(response.all('ratelimit').join())?.[1];
  return remaining === undefined ? undefined : Number(remaining);
}

/** Of a network for documentation (RFC 5737). */
const unusedAddress = () => `203.0.113.${1 + Math.floor(Math.random() * 254)}`;

function trustsClients({ base: { hostname } }: ExaminedSite) {
  const text = 'Vitrine believes an X-Forwarded-For that the client sent';
  // From the machine of the proxy, the client is one of those that may say so.
  if (isPrivate(hostname)) return suggestion(`${text}, but from here that may be right: run this elsewhere`);
  return broken(`${text}: TRUST_PROXY names more than the proxy, or the proxy passes the header on`);
}

export const TRANSPORT_CHECKS: readonly Check[] = [connections, upstream, clientAddress];
