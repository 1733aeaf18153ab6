// Sitemaps for search engines, and robots.txt, which names them (sitemaps.org, protocol 0.9). To make one of 50,000 names takes
// a fifth of a second of CPU, so it is made once for each version of the data, with turns of the event loop in between, and
// kept compressed: 130 KB if names are short. Its ETag tells the version, so a 304 makes nothing.
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import type { Mount } from '../config/clashes.ts';
import { type Config, listMounts, publicOrigin } from '../config/config.ts';
import { hostKey } from '../config/setting-values.ts';
import { VERSION } from '../config/version.ts';
import { caching, matches } from '../http/answer.ts';
import { RequestError } from '../http/errors.ts';
import { computeEtag } from '../records/etag.ts';
import type { Family } from '../records/kinds.ts';
import type { Reader } from '../stores/reader.ts';
import { VARIANTS } from '../variants.ts';
import { SITEMAP, sitemapEntries, sitemapIndex } from '../views/directory.ts';
import { hostConstraint } from './lookup.ts';
import { pageRoute } from './person-pages.ts';
import { createTurns } from './turns.ts';
import { createAsset, GUARD, sendAsset, TEXT } from './web-file.ts';

/** The protocol's 50,000 addresses, one of which is the directory's own. */
const SITEMAP_SIZE = 49_999;
const MOST_SITEMAPS = 50_000;
/** Names read in one turn of the event loop: 3 ms. */
const NAMES_AT_ONCE = 500;
/** Others are made again when they are asked for. */
const MOST_KEPT = 20;
const NOTHING = Buffer.alloc(0);

interface SitemapOptions {
  readonly config: Config;
  readonly store: Reader;
}

/** Sitemaps hold absolute addresses, so there are none without a base URL that names a host. */
export const sitemaps: FastifyPluginCallbackTypebox<SitemapOptions> = (app, { config, store }, done) => {
  const route = pageRoute(config);
  const xml = { ...GUARD, 'content-type': 'application/xml; charset=utf-8', ...caching(config) };
  const text = { ...GUARD, 'content-type': TEXT, ...caching(config) };
  const findStarts = createStarts(store);
  const keep = createKeeper<Buffer>(store, MOST_KEPT);
  const inTurn = createTurns();
  const sites = listMounts(config).flatMap((mount) => {
    const origin = mount.base.origin ?? publicOrigin(config);
    return origin === undefined ? [] : [{ ...mount, origin, family: VARIANTS[mount.variant].family }];
  });
  const sitesFor = ({ headers: { host = '' } }: FastifyRequest) => {
    const found = sites.filter(({ base }: Mount) => base.host === undefined || base.host === hostKey(host));
    if (found.length === 0) throw new RequestError('ROUTE_NOT_FOUND');
    return found;
  };

  for (const { variant, base, origin, family } of sites)
    app.get<{ Params: { number: string } }>(
      `/sitemap-${variant}-:number.xml`,
      { ...route, constraints: hostConstraint(base) },
      async (request, reply) => {
        const number = Number(request.params.number);
        const after = (await findStarts(family))[number - 1];
        if (after === undefined) throw new RequestError('ROUTE_NOT_FOUND');
        const folder = `${origin}/people/${variant}`;
        const etag = computeEtag(
          JSON.stringify([VERSION, folder, number, store.version(), store.lastImport()]),
        );
        const isKnown = matches(request.headers['if-none-match'], etag);
        const pages = () => readPages(store, { folder, family, after });
        const packed = isKnown
          ? NOTHING
          : await keep(`${folder} ${number}`, () => inTurn(() => pipeline(pages(), createGzip(), buffer)));
        return sendAsset(reply, { packed, headers: { ...xml, etag } });
      },
    );

  app.get('/sitemap.xml', route, async (request, reply) => {
    const files: string[] = [];
    for (const { variant, origin, family } of sitesFor(request)) {
      const starts = await findStarts(family);
      files.push(...starts.map((_, at) => `${origin}/sitemap-${variant}-${at + 1}.xml`));
    }
    return sendAsset(reply, createAsset(sitemapIndex(files), xml));
  });

  app.get('/robots.txt', route, (request, reply) => {
    const origins = new Set(sitesFor(request).map(({ origin }) => origin));
    const addresses = [...origins].map((origin) => `Sitemap: ${origin}/sitemap.xml\n`);
    sendAsset(reply, createAsset(`User-agent: *\nAllow: /\n${addresses.join('')}`, text));
  });
  done();
};

interface SitemapContent {
  /** The address of the directory. */
  readonly folder: string;
  readonly family: Family;
  /** The key of the name that the file begins behind. */
  readonly after: string;
}

async function* readPages(store: Reader, { folder, family, after }: SitemapContent): AsyncGenerator<string> {
  yield SITEMAP.start;
  if (after === '') yield sitemapEntries([folder]);
  let last = after;
  for (let left = SITEMAP_SIZE; left > 0; left -= NAMES_AT_ONCE) {
    const names = await store.usernames(family, { after: last, limit: Math.min(NAMES_AT_ONCE, left) });
    yield sitemapEntries(names.map(({ username }) => `${folder}/${encodeURIComponent(username)}`));
    if (names.length < NAMES_AT_ONCE) break;
    last = names.at(-1)?.key ?? '';
  }
  yield SITEMAP.end;
}

/** The key after which each sitemap of a family begins. */
function createStarts(store: Reader): (family: Family) => Promise<readonly string[]> {
  const keep = createKeeper<readonly string[]>(store, 2);

  async function find(family: Family): Promise<readonly string[]> {
    const starts = [''];
    while (starts.length < MOST_SITEMAPS) {
      const options = { after: starts.at(-1) as string, skip: SITEMAP_SIZE - 1, limit: 2 };
      const [last, next] = await store.usernames(family, options);
      if (last === undefined || next === undefined) break;
      starts.push(last.key);
      // SQLite answers at once: other requests have their turn.
      await setImmediate();
    }
    return starts;
  }

  return (family) => keep(family, () => find(family));
}

/** Keeps what was made while the data stays the same; what was asked for first makes room. */
function createKeeper<T>(store: Reader, most: number) {
  const made = new Map<string, Promise<T>>();
  let version: number | undefined;

  return (name: string, make: () => Promise<T>): Promise<T> => {
    const current = store.version();
    if (version !== current) made.clear();
    version = current;
    const known = made.get(name);
    if (known !== undefined) return known;
    const [oldest] = made.keys();
    if (made.size >= most && oldest !== undefined) made.delete(oldest);
    const value = make();
    made.set(name, value);
    value.catch(() => made.get(name) === value && made.delete(name));
    return value;
  };
}
