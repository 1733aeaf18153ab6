// Whether answers can be kept and revalidated: ETag, 304, Cache-Control, and what a cache on the way makes of them.
import type { Heard } from '../remote/http-client.ts';
import { broken, type Check, NEEDS_USER, ok, unclear, type Verdict } from './check.ts';
import { codeOf, type Patient } from './patient.ts';
import { quoted } from './report.ts';

const profileOf = (patient: Patient, headers?: Record<string, string>) =>
  patient.ask(patient.lookups(patient.user as string).profile, headers);

const etag: Check = {
  name: 'ETag',
  async look(patient) {
    if (patient.user === undefined) return NEEDS_USER;
    const tags = (await profileOf(patient)).all('etag');
    if (tags.length === 0) return broken('is stripped: browsers and caches fetch everything again and again');
    if (tags.length > 1) return broken(`comes ${tags.length} times`);
    if (/^W\//.test(tags[0] as string))
      return broken(`is weakened, ${quoted(tags[0])}: something on the way rewrites bodies`);
    const packed = await profileOf(patient, { 'accept-encoding': 'gzip' });
    if (packed.headers.etag === undefined) return broken('is stripped from compressed answers');
    return ok(tags[0] as string);
  },
  mend: {
    nginx: `# take out of the location what rewrites bodies or drops the header:
#   sub_filter …;  ssi on;  add_before_body …;  add_after_body …;  gunzip on;  proxy_hide_header ETag;
etag on;`,
    caddy: `# take out: header -ETag, header_down -ETag, replace_response, templates`,
  },
};

const revalidation: Check = {
  name: '304',
  async look(patient) {
    if (patient.user === undefined) return NEEDS_USER;
    for (const encoding of ['identity', 'gzip']) {
      const tag = (await profileOf(patient, { 'accept-encoding': encoding })).headers.etag;
      if (tag === undefined) return unclear('there is no ETag to ask with');
      const again = await profileOf(patient, { 'accept-encoding': encoding, 'if-none-match': tag });
      const how = encoding === 'gzip' ? ', compressed' : '';
      if (again.status !== 304)
        return broken(
          `If-None-Match with the current ETag${how} is answered ${again.status} with the whole body`,
        );
      if (again.headers['cache-control'] === undefined)
        return broken(`comes without Cache-Control${how}: what is kept is never fresh again`);
    }
    const other = await profileOf(patient, { 'if-none-match': '"another"' });
    if (other.status !== 200) return broken(`If-None-Match with another ETag is answered ${other.status}`);
    return ok('If-None-Match saves the body');
  },
  mend: {
    nginx: `proxy_set_header If-None-Match $http_if_none_match;    # take out: proxy_set_header If-None-Match "";
proxy_cache_revalidate on;`,
    caddy: `# take out: header_up -If-None-Match, request_header -If-None-Match`,
  },
};

const caching: Check = {
  name: 'Cache-Control',
  async look(patient) {
    if (patient.user === undefined) return NEEDS_USER;
    const reply = await profileOf(patient);
    const values = reply.all('cache-control');
    if (values.length === 0) return broken('is missing: nobody knows how long to keep an answer');
    if (values.length > 1) return broken(`comes ${values.length} times: ${quoted(values.join(' | '))}`);
    const forbids = /no-store|no-cache|private|max-age=0\b/i.exec(values[0] as string);
    if (forbids !== null)
      return broken(`forbids keeping answers: ${quoted(values[0])} (unless CACHE_CONTROL says so)`);
    if (reply.headers['set-cookie'] !== undefined)
      return broken('Set-Cookie is added: no shared cache keeps that');
    if (/\*|cookie|user-agent/i.test(reply.all('vary').join(',')))
      return broken(`Vary: ${quoted(reply.all('vary').join(', '))} keeps caches from sharing`);
    return ok(values[0] as string);
  },
  mend: {
    nginx: `expires off;
# take out: add_header Cache-Control …;  proxy_hide_header Cache-Control;  add_header Set-Cookie …;
# how long to keep is Vitrine's setting CACHE_CONTROL`,
    caddy: `# take out: header Cache-Control …, header_down -Cache-Control`,
  },
};

/** Seconds for which an error may be kept. */
const LONGEST_FOR_ERRORS = 60;

const errorCaching: Check = {
  name: 'errors kept',
  async look({ ask, lookups, nobody, malformed }) {
    for (const [path, what] of [
      [lookups(nobody).profile, '404'],
      [malformed, '400'],
    ] as const) {
      const [first, second] = [await ask(path), await ask(path)];
      if (codeOf(first) === undefined) return unclear("errors are not Vitrine's own");
      const values = first.all('cache-control');
      if (values.length === 0)
        return broken(`${what} comes without Cache-Control: a cache may keep it as long as it likes`);
      const seconds = Math.max(
        ...values.map((value) => Number(/(?:max-age|s-maxage)=(\d+)/i.exec(value)?.[1] ?? 0)),
        Number(second.headers.age ?? 0),
      );
      if (seconds > LONGEST_FOR_ERRORS)
        return broken(`${what} is kept for ${seconds} s: who is new stays unknown for so long`);
      if (what === '400' && /\bhit\b/i.test(cacheSays(second) ?? ''))
        return broken('400 comes from a cache, though it says no-store');
    }
    return ok('errors are forgotten at once, 404 within seconds');
  },
  mend: {
    nginx: `# take out: proxy_cache_valid any …;  proxy_cache_valid 404 …;  proxy_ignore_headers Cache-Control …;
#           add_header Cache-Control … always;
# without them the cache keeps what Vitrine allows`,
    caddy: `# take out: header Cache-Control …`,
  },
};

/** What a cache says of itself. */
const CACHE_HEADERS = ['x-cache-status', 'cache-status', 'cf-cache-status', 'x-cache', 'x-proxy-cache'];
const cacheSays = ({ headers }: Heard) =>
  CACHE_HEADERS.map((name) => headers[name]).find((value) => value !== undefined) as string | undefined;
const ASKED_OF_CACHE = 3;

const cache: Check = {
  name: 'cache in front',
  async look(patient): Promise<Verdict> {
    if (patient.user === undefined) return NEEDS_USER;
    let said: string | undefined;
    for (let turn = 0; turn < ASKED_OF_CACHE; turn++) {
      const reply = await profileOf(patient);
      if (Number(reply.headers.age) > 0) return ok(`keeps answers (Age: ${reply.headers.age})`);
      said = cacheSays(reply);
      if (/hit|stale|updating|revalidated/i.test(said ?? '')) return ok(`keeps answers (${quoted(said)})`);
    }
    if (said !== undefined)
      return broken(`there is one, but it keeps nothing: ${quoted(said)}, ${ASKED_OF_CACHE} times in a row`);
    return { ...unclear('no cache says that it is there (X-Cache-Status, Age)'), advise: true };
  },
  mend: {
    nginx: `# in http { … }
proxy_cache_path /var/cache/nginx/vitrine levels=1:2 keys_zone=vitrine:20m max_size=1g inactive=1d use_temp_path=off;
# in the location
proxy_cache vitrine;
proxy_cache_key $http_host$request_uri;
proxy_cache_revalidate on;
proxy_cache_lock on;
proxy_cache_background_update on;
proxy_cache_use_stale error timeout invalid_header http_502 http_503 http_504;
add_header X-Cache-Status $upstream_cache_status always;
# take out: proxy_no_cache …;  proxy_cache_bypass …;  proxy_buffering off;`,
    caddy: `# Caddy keeps nothing by itself: build it with the module cache-handler, or let a CDN do it`,
  },
};

export const CACHE_CHECKS: readonly Check[] = [etag, revalidation, caching, errorCaching, cache];
