// Whether a request arrives as it was sent: prefix, user name, query, method, size.
import { type HttpResponse, SiteError } from '../remote/http-client.ts';
import { COLLECTIONS, isInQuery, VARIANTS } from '../variants.ts';
import { broken, type Check, type Finding, NEEDS_USER, ok, quoted, unchecked, unclear } from './check.ts';
import { type Deployment, isProfile, objectIn, readCode } from './deployment.ts';
import { describeFiles, escapeLetter } from './published-files.ts';

const address: Check = {
  name: 'address',
  async run(deployment) {
    const { found, first, given, path, origin, variant, user, published } = deployment;
    if (!found) return first instanceof SiteError ? unreachable(first) : notVitrine(first);
    if (path !== given && path === given + given)
      return broken(`the proxy removes the prefix: ${given} works only when written twice, ${path}`);
    const list =
      user === undefined ? {} : (objectIn(await deployment.send(deployment.lookups(user).items)) ?? {});
    const { collection } = VARIANTS[variant];
    const other = COLLECTIONS.find((name) => name in list);
    if (other !== undefined && !(collection in list))
      return broken(`is not variant ${variant}: its list is called ${other}, not ${collection}`);
    const place = `variant ${variant} at ${origin.origin}${path}`;
    if (user === undefined) return ok(`${place}; no existing user is known`);
    const files = published === undefined ? '' : `; ${await describeFiles(deployment, user)}`;
    return ok(`${place}, user ${quoted(user)}${files}`);
  },
};

const unreachable = ({ kind, message }: SiteError) =>
  kind === 'closed' ? unchecked(message) : broken(message);

function notVitrine(response: HttpResponse): Finding {
  const { status, headers } = response;
  if (status >= 300 && status < 400)
    return broken(`redirects to ${quoted(headers.location)}: give front-ends, and the doctor, that address`);
  if (status === 502 || status === 504) return broken(`status ${status}: the proxy does not reach Vitrine`);
  const code = readCode(response);
  if (code === 'ROUTE_NOT_FOUND')
    return broken(
      'Vitrine answers, but serves nothing at this address: the proxy changes the prefix, or BASE_URL_A, _B, _C differ',
    );
  if (code === 'NOT_READY' || code === 'OVERLOADED')
    return unchecked(`Vitrine answers ${status} ${code}: its log says why`);
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
  async run({ send, lookups, nobody, style, user, published }) {
    const plain = readCode(await send(lookups(nobody).profile));
    if (plain === 'USER_MISSING' && !isInQuery(style))
      return broken('the user name does not arrive: the path is cut off');
    if (plain !== 'USER_NOT_FOUND') return unclear('an unknown user does not get USER_NOT_FOUND');
    for (const [encoded, meaning] of isInQuery(style) ? ENCODED.query : ENCODED.path) {
      const response = await send(lookups(nobody).profile + encoded);
      const code = readCode(response) ?? '';
      if (code !== 'USER_NOT_FOUND')
        return broken(
          `${meaning} in a name does not arrive: ${quoted(nobody + encoded)} gets ${response.status} ${code}`.trim(),
        );
    }
    // Of published files, the first check says it.
    const escaped = user === undefined || published ? undefined : escapeLetter({ lookups }, user);
    const { status } = escaped === undefined ? { status: 200 } : await send(escaped.path);
    if (status !== 200)
      return broken(`a letter that is encoded although it need not be, ${escaped?.letter}, gets ${status}`);
    return ok('every character of a name arrives as it was sent');
  },
};

const withExtra = (path: string) => `${path}${path.includes('?') ? '&' : '?'}utm_source=doctor`;

const query: Check = {
  name: 'query',
  run: (deployment) =>
    isInQuery(deployment.style) ? checkQueryStyle(deployment) : checkIgnoredQuery(deployment),
};

async function checkIgnoredQuery({ send, lookups, nobody, user }: Deployment): Promise<Finding> {
  const path = lookups(user ?? nobody).profile;
  const [plain, extra] = [await send(path), await send(withExtra(path))];
  if (plain.status !== extra.status) return broken(`a query, which should be ignored, gets ${extra.status}`);
  return ok('unknown parameters are ignored');
}

async function checkQueryStyle({ send, lookups, nobody, user, variant }: Deployment): Promise<Finding> {
  const unknown = await send(lookups(nobody).profile);
  if (readCode(unknown) === 'USER_MISSING') return broken('`user` does not arrive: the query is cut off');
  if (user === undefined) return NEEDS_USER;
  const profile = await send(lookups(user).profile);
  const items = await send(lookups(user).items);
  const extra = await send(withExtra(lookups(user).profile));
  if (unknown.status === 200)
    return broken('an unknown user gets the profile of another: the cache key lacks the query');
  if (isProfile(items)) return broken('`post=true` does not arrive: the profile comes instead of the posts');
  if (!Array.isArray(objectIn(items)?.[VARIANTS[variant].collection]))
    return broken(`\`post=true\` gets ${items.status}`);
  if (!isProfile(profile))
    return broken('the posts come instead of the profile: the cache key lacks a part of the query');
  if (extra.status !== 200) return broken(`an unknown parameter, utm_source, gets ${extra.status}`);
  return ok('`user` and `post` arrive, and unknown parameters are ignored');
}

const head: Check = {
  name: 'HEAD',
  async run({ user, send, lookups }) {
    if (user === undefined) return NEEDS_USER;
    const path = lookups(user).profile;
    const [get, head] = [await send(path), await send(path, {}, 'HEAD')];
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
  async run({ send, lookups, nobody }) {
    const askStatus = async (name: string, headers?: Record<string, string>) =>
      (await send(lookups(name).profile, headers)).status;
    // All these users are unknown. Where short names do not arrive, long ones cannot be judged.
    if ((await askStatus(nobody)) !== 404 || (await askStatus(LONG_LETTER)) !== 404)
      return unclear('names do not arrive as they were sent');
    const long = await askStatus(LONG_LETTER.repeat(MAX_NAME));
    if (long !== 404)
      return broken(
        `a user name of ${MAX_NAME} characters, 3 KB in the address, gets ${long}: buffers are too small`,
      );
    const cookie = await askStatus(nobody, { cookie: `padding=${'x'.repeat(COOKIE_BYTES)}` });
    if (cookie !== 404) return broken(`a request with 4 KB of cookies gets ${cookie}: buffers are too small`);
    return ok('the longest names and 4 KB of cookies arrive');
  },
};

export const ADDRESS_CHECKS: readonly Check[] = [address, names, query, head, size];
