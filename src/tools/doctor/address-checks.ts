// Whether a request arrives as it was sent: prefix, user name, query, method, size.
import { brief } from '../../records/printable.ts';
import { COLLECTIONS, isInQuery, VARIANTS } from '../../variants.ts';
import { type HttpResponse, SiteError } from '../remote/http-client.ts';
import {
  broken,
  type Check,
  type Finding,
  isProfile,
  NEEDS_USER,
  objectIn,
  ok,
  quoted,
  readCode,
  unchecked,
  unclear,
} from './site.ts';

const address: Check = {
  name: 'address',
  advice: 'Pass the path on with its prefix, and send front-ends to the address that answers.',
  async run(site) {
    const { found, first, given, path, base, variant, user, items, published } = site;
    if (!found) return first instanceof SiteError ? unreachable(first) : notVitrine(first);
    if (path !== given && path === given + given)
      return broken(`the proxy removes the prefix: ${given} works only when written twice, ${path}`);
    const place = `variant ${variant} at ${base.origin}${path}`;
    if (user === undefined) return ok(`${place}; no existing user is known`);
    const list = objectIn(await site.send(items)) ?? {};
    const { collection } = VARIANTS[variant];
    const other = COLLECTIONS.find((name) => name in list);
    if (other !== undefined && !(collection in list))
      return broken(`is not variant ${variant}: its list is called ${other}, not ${collection}`);
    const files =
      published === undefined ? '' : `; files of \`vitrine publish\` for ${quoted(published).slice(1, -1)}`;
    return ok(`${place}, user ${quoted(user)}${files}`);
  },
};

const unreachable = ({ kind, message }: SiteError) =>
  kind === 'closed' ? unchecked(message) : broken(message);

/** Vitrine's longest message fits. */
const LONGEST_MESSAGE = 120;

/** For errors of Vitrine's that a proxy causes. */
const REMEDIES: Record<string, string> = {
  HOST_MISSING:
    'Have the proxy send Host once: a second proxy_set_header Host may stand in an included file.',
  PROXY_PROTOCOL:
    'Turn the PROXY protocol off (send-proxy in HAProxy, proxy_protocol on in nginx), and send X-Forwarded-For.',
};

function notVitrine(response: HttpResponse): Finding {
  const { status, headers } = response;
  if (status >= 300 && status < 400)
    return broken(`redirects to ${quoted(headers.location)}: give front-ends, and the doctor, that address`);
  if (status === 502 || status === 504) return broken(`status ${status}: the proxy does not reach Vitrine`);
  const code = readCode(response);
  if (code === 'ROUTE_NOT_FOUND')
    return broken(
      'Vitrine answers, but serves nothing at this address: the proxy changes the prefix or Host, or BASE_URL_A, _B, _C have another path, host or port',
    );
  if (code === 'NOT_READY' || code === 'OVERLOADED')
    return unchecked(`Vitrine answers ${status} ${code}: its log says why`);
  if (code !== undefined)
    return broken(
      `Vitrine answers ${status} ${code}: ${brief(`${objectIn(response)?.message}`, LONGEST_MESSAGE)}`,
      REMEDIES[code],
    );
  return broken(`status ${status} with ${quoted(headers['content-type'])}, which is not from Vitrine`);
}

/** Ends of names that mean something else when they are decoded too early or twice. */
const ENCODED = {
  query: [
    ['%25zz', '%25 (percent sign)'],
    ['%26user%3Dzz', '%26 (ampersand)'],
    ['%26post%3Dzz', '%26 (ampersand)'],
    ['%20zz', '%20 (space)'],
    ['%E2%98%83', 'letters outside ASCII'],
  ],
  path: [
    ['%2Fzz', '%2F (slash)'],
    ['%25zz', '%25 (percent sign)'],
    ['%252Fzz', '%25 (percent sign)'],
    ['%3Fzz', '%3F (question mark)'],
    ['%20zz', '%20 (space)'],
    ['%E2%98%83', 'letters outside ASCII'],
  ],
} as const;

const names: Check = {
  name: 'encoded names',
  advice: 'Pass the path on as it was sent: no $uri, rewrite, handle_path or whatever else decodes or sorts.',
  async run({ send, absent, unusedName, style }) {
    const plain = readCode(await send(absent));
    if (plain === 'USER_MISSING' && !isInQuery(style))
      return broken('the user name does not arrive: the path is cut off');
    if (plain !== 'USER_NOT_FOUND') return unclear('an unknown user does not get USER_NOT_FOUND');
    for (const [encoded, meaning] of isInQuery(style) ? ENCODED.query : ENCODED.path) {
      const response = await send(absent + encoded);
      const code = readCode(response) ?? '';
      if (code !== 'USER_NOT_FOUND')
        return broken(
          `${meaning} in a name does not arrive: ${quoted(unusedName + encoded)} gets ${response.status} ${code}`.trim(),
        );
    }
    return ok('every character of a name arrives as it was sent');
  },
};

const query: Check = {
  name: 'query',
  advice: 'Pass `user` and `post` on, and have them in the cache key. Other parameters may be dropped.',
  async run({ send, absent, profile, items, user, style, variant }) {
    const unknown = await send(absent);
    if (isInQuery(style)) {
      if (readCode(unknown) === 'USER_MISSING') return broken('`user` does not arrive: the query is cut off');
      if (user === undefined) return NEEDS_USER;
    }
    const [asked, list] = [await send(profile), await send(items)];
    const extra = await send(`${profile}${profile.includes('?') ? '&' : '?'}utm_source=doctor`);
    if (extra.status !== asked.status)
      return broken(`an unknown parameter, utm_source, gets ${extra.status}`);
    if (!isInQuery(style)) return ok('unknown parameters are ignored');
    if (unknown.status === 200)
      return broken('an unknown user gets the profile of another: the cache key lacks the query');
    if (isProfile(list)) return broken('`post=true` does not arrive: the profile comes instead of the posts');
    if (!Array.isArray(objectIn(list)?.[VARIANTS[variant].collection]))
      return broken(`\`post=true\` gets ${list.status}`);
    if (!isProfile(asked))
      return broken('the posts come instead of the profile: the cache key lacks a part of the query');
    return ok('`user` and `post` arrive, and unknown parameters are ignored');
  },
};

const head: Check = {
  name: 'HEAD',
  advice: 'Let GET, HEAD and OPTIONS through.',
  needsUser: true,
  async run({ send, profile }) {
    const [get, head] = [await send(profile), await send(profile, {}, 'HEAD')];
    if (head.status !== get.status) return broken(`gets ${head.status} where GET gets ${get.status}`);
    const differing = ['etag', 'content-type', 'cache-control'].filter(
      (name) => head.headers[name] !== get.headers[name],
    );
    if (differing.length > 0) return broken(`lacks headers that GET has: ${differing.join(', ')}`);
    return ok('has the status and headers of GET');
  },
};

/** Four bytes, each written as three characters. */
const LONG_LETTER = '\u{1f5bc}';
const MAX_NAME = 255;
/** What browsers send with every request where other parts of the site set cookies. */
const COOKIE_BYTES = 4000;

const size: Check = {
  name: 'header size',
  advice:
    'Make room for 16 KB of headers: large_client_header_buffers 4 16k (nginx), max_header_size 16KB (Caddy).',
  ofProxy: true,
  async run({ send, lookups, unusedName }) {
    const askStatus = async (name: string, headers?: Record<string, string>) =>
      (await send(lookups(name).profile, headers)).status;
    // All these users are unknown. Where short names do not arrive, long ones cannot be judged.
    if ((await askStatus(unusedName)) !== 404 || (await askStatus(LONG_LETTER)) !== 404)
      return unclear('names do not arrive as they were sent');
    const long = await askStatus(LONG_LETTER.repeat(MAX_NAME));
    if (long !== 404)
      return broken(
        `a user name of ${MAX_NAME} characters, 3 KB in the address, gets ${long}: buffers are too small`,
      );
    const cookie = await askStatus(unusedName, { cookie: `padding=${'x'.repeat(COOKIE_BYTES)}` });
    if (cookie !== 404) return broken(`a request with 4 KB of cookies gets ${cookie}: buffers are too small`);
    return ok('the longest names and 4 KB of cookies arrive');
  },
};

export const ADDRESS_CHECKS: readonly Check[] = [address, names, query, head, size];
