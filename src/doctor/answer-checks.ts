// Whether an answer comes back as it was given: its type, its errors, and who may read it.
import type { Heard } from '../remote/http-client.ts';
import { broken, type Check, NEEDS_USER, ok, unclear } from './check.ts';
import { codeOf, isProfile, objectIn, type Patient } from './patient.ts';
import { quoted } from './report.ts';

const type: Check = {
  name: 'content type',
  async look({ ask, lookups, user, nobody }) {
    const reply = await ask(lookups(user ?? nobody).profile);
    const types = reply.all('content-type');
    if (types.length !== 1) return broken(types.length === 0 ? 'is missing' : `comes ${types.length} times`);
    if (!/^application\/json\s*(;|$)/i.test(types[0] as string))
      return broken(`is ${quoted(types[0])}, not application/json`);
    if (!/charset="?utf-8/i.test(types[0] as string))
      return broken(`${quoted(types[0])} does not say charset=utf-8`);
    if (objectIn(reply) === undefined)
      return broken(`says JSON, but the body is not: ${quoted(String(reply.body))}`);
    return ok(types[0] as string);
  },
  mend: {
    nginx: `# take out: proxy_hide_header Content-Type; add_header Content-Type …; charset …; sub_filter …;
proxy_pass_header Content-Type;`,
    caddy: `# take out: header Content-Type …, and templates`,
  },
};

const errors: Check = {
  name: 'error pages',
  async look({ ask, lookups, nobody, malformed }) {
    const cases = [
      { reply: await ask(lookups(nobody).profile), status: 404, what: 'an unknown user' },
      { reply: await ask(malformed), status: 400, what: 'a question without a user' },
    ];
    for (const { reply, status, what } of cases) {
      if (reply.status !== status && (codeOf(reply) !== undefined || isProfile(reply)))
        return unclear('Vitrine is asked something else than was meant: see encoded names and query');
      if (reply.status !== status) return broken(`${what} is answered ${reply.status} instead of ${status}`);
      if (codeOf(reply) === undefined)
        return broken(
          `for ${what} (${status}) somebody else's page comes instead of Vitrine's JSON: ${quoted(String(reply.body).trim())}`,
        );
    }
    return ok("404 and 400 come as Vitrine's JSON");
  },
  mend: {
    nginx: `proxy_intercept_errors off;    # error_page then does not touch what Vitrine answers`,
    caddy: `reverse_proxy 127.0.0.1:8080   # without handle_response @error { … }`,
  },
};

const cors: Check = {
  name: 'CORS',
  async look(patient) {
    for (const { what, reply } of await everyStatus(patient)) {
      const allowed = reply.all('access-control-allow-origin');
      if (allowed.length === 0)
        return broken(
          `Access-Control-Allow-Origin is missing on ${what}: no page of another origin can read it`,
        );
      if (allowed.length > 1 || allowed[0]?.includes(','))
        return broken(
          `Access-Control-Allow-Origin comes twice on ${what}, ${quoted(allowed.join(', '))}: browsers refuse that`,
        );
    }
    const preflight = await patient.ask(
      patient.lookups(patient.user ?? patient.nobody).profile,
      { 'access-control-request-method': 'GET', 'access-control-request-headers': 'if-none-match' },
      'OPTIONS',
    );
    if (preflight.status >= 300 || preflight.all('access-control-allow-origin').length !== 1)
      return broken(`a preflight (OPTIONS) is answered ${preflight.status} without what a browser needs`);
    const [reply] = await everyStatus(patient);
    const exposed = (reply as { reply: Heard }).reply.all('access-control-expose-headers').join(',');
    if (!/\betag\b|\*/i.test(exposed))
      return broken('ETag is not exposed (Access-Control-Expose-Headers): pages cannot read it');
    return ok('pages of any origin may read answers, 304 and errors');
  },
  mend: {
    nginx: `# take out every: add_header Access-Control-… ;  proxy_hide_header Access-Control-… ;
# Vitrine says it itself, on every status; CORS_ORIGIN is where it is set
# and let OPTIONS through: no  if ($request_method = OPTIONS) { return … }`,
    caddy: `# take out every: header Access-Control-… and header_down -Access-Control-…`,
  },
};

/** One answer of each status that a page may meet. */
async function everyStatus({
  ask,
  lookups,
  user,
  nobody,
  malformed,
}: Patient): Promise<{ what: string; reply: Heard }[]> {
  const failures = [
    { what: '404', reply: await ask(lookups(nobody).profile) },
    { what: '400', reply: await ask(malformed) },
  ];
  if (user === undefined) return failures;
  const success = await ask(lookups(user).profile);
  const { etag } = success.headers;
  const again = etag === undefined ? undefined : await ask(lookups(user).profile, { 'if-none-match': etag });
  return [
    { what: '200', reply: success },
    ...(again?.status === 304 ? [{ what: '304', reply: again }] : []),
    ...failures,
  ];
}

const compression: Check = {
  name: 'compression',
  async look({ ask, lookups, user }) {
    if (user === undefined) return NEEDS_USER;
    const items = await ask(lookups(user).items);
    const path = items.body.length >= WORTH_COMPRESSING ? lookups(user).items : lookups(user).profile;
    const packed = await ask(path, { 'accept-encoding': 'gzip' });
    if (packed.headers['content-encoding'] === undefined)
      return packed.body.length < WORTH_COMPRESSING
        ? ok(`what ${quoted(user)} has is too short to be worth it`)
        : broken(`${packed.body.length} bytes come as they are; gzip would make them a fraction`);
    if (items.headers['content-encoding'] !== undefined)
      return broken('comes also to those who do not understand it');
    if (!/accept-encoding|\*/i.test(packed.all('vary').join(',')))
      return broken(
        'Vary: Accept-Encoding is missing: a cache would give it to those who do not understand it',
      );
    return ok(`${packed.headers['content-encoding']}, for those who ask for it`);
  },
  mend: {
    nginx: `gzip on;
gzip_types application/json;
gzip_proxied any;
gzip_vary on;`,
    caddy: `encode zstd gzip`,
  },
};

const WORTH_COMPRESSING = 1000;

export const ANSWER_CHECKS: readonly Check[] = [type, errors, cors, compression];
