// Whether what is asked for arrives as it was written: the prefix, the name, the query, the method.
import { AskError } from '../remote/http-client.ts';
import { broken, type Check, NEEDS_USER, ok, unclear } from './check.ts';
import { codeOf, isProfile, objectIn } from './patient.ts';
import { quoted } from './report.ts';

const address: Check = {
  name: 'address',
  async look(patient) {
    const { found, first, given, path, origin, variant, user } = patient;
    const place = `variant ${variant} at ${origin}${path}`;
    if (found && path !== given && path.startsWith(given) && path.endsWith(given) && given !== '')
      return broken(
        `the prefix is lost on the way: ${given} has to be written twice, ${path}, to be heard once`,
      );
    if (found)
      return ok(user === undefined ? `${place}; no user is known` : `${place}, user ${quoted(user)}`);
    if (first instanceof AskError) return broken(first.message);
    const { status, headers } = first;
    if (status >= 300 && status < 400)
      return broken(`leads to ${quoted(headers.location)}: front-ends need the address itself, ask that one`);
    if (status === 502 || status === 504)
      return broken(`the proxy answers ${status}: it does not reach Vitrine`);
    if (codeOf(first) === 'ROUTE_NOT_FOUND')
      return broken(
        'Vitrine answers, but has nothing at this address: the prefix is changed on the way, or BASE_URL_A, _B, _C differ',
      );
    return broken(`answers ${status} as ${quoted(headers['content-type'])}, which is not Vitrine`);
  },
  mend: {
    nginx: `location /b/ {
    proxy_pass http://vitrine;    # nothing after the name, not even a slash: the prefix stays
}`,
    caddy: `handle /b/* {                     # handle, not handle_path: the prefix stays
    reverse_proxy 127.0.0.1:8080
}`,
  },
};

/** Names that mean something else once they are decoded too early or twice; nobody has them. */
const NAMES: Record<'a' | 'b', readonly (readonly [encoded: string, means: string])[]> = {
  a: [
    ['%25zz', '%25 (a percent sign)'],
    ['%26user%3Dzz', '%26 (an ampersand)'],
    ['%26post%3Dzz', '%26 (an ampersand)'],
    ['%20zz', '%20 (a blank)'],
    ['%E2%98%83', 'letters beyond ASCII'],
  ],
  b: [
    ['%2Fzz', '%2F (a slash)'],
    ['%25zz', '%25 (a percent sign)'],
    ['%252Fzz', '%25 (a percent sign)'],
    ['%3Fzz', '%3F (a question mark)'],
    ['%20zz', '%20 (a blank)'],
    ['%E2%98%83', 'letters beyond ASCII'],
  ],
};

const names: Check = {
  name: 'encoded names',
  async look({ ask, lookups, nobody, variant, user }) {
    const plain = await ask(lookups(nobody).profile);
    if (codeOf(plain) !== 'USER_NOT_FOUND') return unclear('an unknown name is not answered by Vitrine');
    for (const [encoded, means] of NAMES[variant === 'a' ? 'a' : 'b']) {
      const reply = await ask(lookups(nobody).profile + encoded);
      const code = codeOf(reply);
      if (code !== 'USER_NOT_FOUND')
        return broken(
          `${means} in a name does not arrive: ${quoted(nobody + encoded)} is answered ${reply.status} ${code ?? ''}`.trim(),
        );
    }
    if (user !== undefined && /^[a-z]/i.test(user)) {
      const letter = `%${user.charCodeAt(0).toString(16)}`;
      const same = await ask(
        lookups(user).profile.replace(new RegExp(`([=/])${user[0]}(?=[^=/]*$)`), `$1${letter}`),
      );
      if (same.status !== 200)
        return broken(`a letter that is encoded without need, ${letter}, is answered ${same.status}`);
    }
    return ok('every character of a name arrives as it was meant');
  },
  mend: {
    nginx: `proxy_pass http://vitrine;    # or http://vitrine$request_uri: as it was sent
# never a path after the name, and neither $uri nor rewrite: those have been decoded`,
    caddy: `reverse_proxy 127.0.0.1:8080   # without rewrite, uri and handle_path, which decode`,
  },
};

const query: Check = {
  name: 'query',
  async look({ ask, lookups, nobody, variant, user }) {
    const stray = (path: string) => `${path}${path.includes('?') ? '&' : '?'}utm_source=doctor`;
    const unknown = await ask(lookups(nobody).profile);
    if (variant !== 'a') {
      const path = lookups(user ?? nobody).profile;
      const [without, with_] = [await ask(path), await ask(stray(path))];
      if (without.status !== with_.status)
        return broken(`a query that should not matter is answered ${with_.status}`);
      return ok('what should not matter does not');
    }
    if (codeOf(unknown) === 'USER_MISSING') return broken('`user` does not arrive: the query is cut off');
    if (user === undefined) return NEEDS_USER;
    const [profile, items, marked] = [
      await ask(lookups(user).profile),
      await ask(lookups(user).items),
      await ask(stray(lookups(user).profile)),
    ];
    if (unknown.status === 200)
      return broken(
        'an unknown user is answered with somebody else: what is kept does not depend on the query',
      );
    if (!Array.isArray(objectIn(items)?.posts))
      return broken(
        `\`post=true\` ${isProfile(items) ? 'does not arrive: the profile comes instead of the posts' : `is answered ${items.status}`}`,
      );
    if (!isProfile(profile))
      return broken('the posts come instead of the profile: what is kept does not depend on the whole query');
    if (marked.status !== 200)
      return broken(`a member that should not matter, utm_source, is answered ${marked.status}`);
    return ok('`user` and `post` arrive, and what should not matter does not');
  },
  mend: {
    nginx: `proxy_pass http://vitrine;    # or http://vitrine$request_uri: with the query; $uri is without
proxy_cache_key $http_host$request_uri;`,
    caddy: `reverse_proxy 127.0.0.1:8080   # without rewrite * /path, which drops the query`,
  },
};

const head: Check = {
  name: 'HEAD',
  async look(patient) {
    if (patient.user === undefined) return NEEDS_USER;
    const path = patient.lookups(patient.user).profile;
    const [get, head] = [await patient.ask(path), await patient.ask(path, {}, 'HEAD')];
    if (head.status !== get.status)
      return broken(`is answered ${head.status} where GET is answered ${get.status}`);
    const differing = ['etag', 'content-type', 'cache-control'].filter(
      (name) => head.headers[name] !== get.headers[name],
    );
    if (differing.length > 0) return broken(`has not the headers of GET: ${differing.join(', ')}`);
    return ok('is answered like GET');
  },
  mend: {
    nginx: `limit_except GET OPTIONS { deny all; }    # GET means HEAD as well; without: if ($request_method != GET)
proxy_cache_convert_head on;`,
    caddy: `@reading method GET HEAD OPTIONS
reverse_proxy @reading 127.0.0.1:8080`,
  },
};

export const ADDRESS_CHECKS: readonly Check[] = [address, names, query, head];
