// Sitemaps for search engines, and robots.txt, which names them (sitemaps.org, protocol 0.9): people with their newest items;
// their pages lead to older ones. The protocol allows 50,000 addresses in a file; with fewer than 1,000 each is made quickly.
// The index, the sitemaps asked for last, and where every twentieth begins are kept until the data changes.
import { setImmediate } from 'node:timers/promises';
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { type Asset, createAsset, sendAsset } from '../../api/http/assets.ts';
import { RequestError } from '../../api/http/errors.ts';
import { caching } from '../../api/http/headers.ts';
import { FAULT } from '../../api/http/input.ts';
import { publicOrigin } from '../../config/addresses.ts';
import { hostConstraint, isOnHost } from '../../config/mount.ts';
import { type Config, listMounts } from '../../config/settings.ts';
import { FAMILIES, type Family, findKind, ITEM_CAP } from '../../records/kinds.ts';
import type { ListOptions, Reader } from '../../stores/reader.ts';
import { VARIANTS } from '../../variants.ts';
import { TEXT } from '../page-headers.ts';
import { pageRoute } from '../people/person-pages.ts';
import { sitemap, sitemapIndex } from './directory-page.ts';
import { oncePerVersion } from './once-per-version.ts';

/** People in a sitemap. */
const SITEMAP_SIZE = 50;
/** Sitemaps with beginnings that one query finds. */
const BLOCK = 20;
const BLOCK_SIZE = BLOCK * SITEMAP_SIZE;
/** The protocol's limit for an index is 50,000 sitemaps. */
const MOST_BLOCKS = 50_000 / BLOCK;
/** Sitemaps that are kept: each has 360 KB at most, and mostly 60. Crawlers ask for one after the other. */
const MOST_KEPT = 20;

const Params = Type.Object({
  number: Type.String({ pattern: '^[1-9]\\d{0,4}$', [FAULT]: 'ROUTE_NOT_FOUND' }),
});

interface SitemapOptions {
  readonly config: Config;
  readonly store: Reader;
}

/** Sitemaps hold absolute addresses, so there are none without a base URL that names a host. */
export const sitemaps: FastifyPluginCallbackTypebox<SitemapOptions> = (app, { config, store }, done) => {
  const route = pageRoute(config);
  const xml = { 'content-type': 'application/xml; charset=utf-8', ...caching(config) };
  const text = { 'content-type': TEXT, ...caching(config) };
  const findParts = createParts(store);
  const shareIndex = oncePerVersion<Asset>(store, listMounts(config).length);
  const shareSitemap = oncePerVersion<Asset>(store, MOST_KEPT);
  const sites = listSites(config);
  const sitesFor = ({ headers }: FastifyRequest) => {
    const found = sites.filter((site) => isOnHost(site, headers.host));
    if (found.length === 0) throw new RequestError('ROUTE_NOT_FOUND');
    return found;
  };

  for (const { variant, base, origin, family } of sites)
    app.get<{ Params: Static<typeof Params> }>(
      `/sitemap-${variant}-:number.xml`,
      { ...route, constraints: hostConstraint(base), schema: { ...route.schema, params: Params } },
      async (request, reply) => {
        const { number } = request.params;
        const asset = await shareSitemap(`${variant} ${number}`, async () => {
          const nth = Number(number) - 1;
          const { starts, count } = await findParts(family);
          const after = starts[Math.floor(nth / BLOCK)];
          if (after === undefined || nth >= count) throw new RequestError('ROUTE_NOT_FOUND');
          const part = { after, skip: (nth % BLOCK) * SITEMAP_SIZE, limit: SITEMAP_SIZE };
          const directory = `${origin}/people/${variant}`;
          const pages = await listPages(store, family, part, directory);
          return createAsset(sitemap(nth === 0 ? [directory, ...pages] : pages), xml);
        });
        return sendAsset(reply, asset);
      },
    );

  app.get('/sitemap.xml', route, async (request, reply) => {
    const found = sitesFor(request);
    const asset = await shareIndex(found.map(({ variant }) => variant).join(' '), async () => {
      const files: string[] = [];
      for (const { variant, origin, family } of found) {
        const count = await countSitemaps(store, family);
        for (let number = 1; number <= count; number++)
          files.push(`${origin}/sitemap-${variant}-${number}.xml`);
      }
      if (files.length === 0) throw new RequestError('ROUTE_NOT_FOUND');
      return createAsset(sitemapIndex(files), xml);
    });
    return sendAsset(reply, asset);
  });

  app.get('/robots.txt', route, (request, reply) => {
    const origins = new Set(sitesFor(request).map(({ origin }) => origin));
    const addresses = [...origins].map((origin) => `Sitemap: ${origin}/sitemap.xml\n`);
    sendAsset(reply, createAsset(`User-agent: *\nAllow: /\n${addresses.join('')}`, text));
  });
  done();
};

/** Where pages are; of variants that show the same on one host, the first. */
function listSites(config: Config) {
  const sites = listMounts(config).flatMap((mount) => {
    const origin = mount.base.origin ?? publicOrigin(config);
    return origin === undefined ? [] : [{ ...mount, origin, family: VARIANTS[mount.variant].family }];
  });
  return sites.filter(
    ({ origin, family }, at) =>
      at === sites.findIndex((site) => site.origin === origin && site.family === family),
  );
}

/** The addresses of the pages of people and of their newest items. */
async function listPages(store: Reader, family: Family, part: ListOptions, directory: string) {
  const pages: string[] = [];
  for (const { key, username } of await store.users(family, part)) {
    const page = `${directory}/${encodeURIComponent(username)}`;
    const items = await store.historySizes(family, key, { limit: ITEM_CAP });
    pages.push(page, ...items.map(({ id }) => `${page}/${id}`));
  }
  return pages;
}

/** Users are not read for the number of them: of a million, that takes seconds after each change of the data. */
async function countSitemaps(store: Reader, family: Family): Promise<number> {
  // Unlike counts, this fails if the data cannot be read.
  const [first] = await store.users(family, { limit: 1 });
  if (first === undefined) return 0;
  const users = (await store.counts())[findKind(family, 'profile')];
  return Math.min(Math.ceil(users / SITEMAP_SIZE), MOST_BLOCKS * BLOCK);
}

interface Parts {
  /** The key of the name after which each block of sitemaps begins. */
  readonly starts: readonly string[];
  /** How many sitemaps there are. */
  readonly count: number;
}

/** The sitemaps of a family. */
function createParts(store: Reader): (family: Family) => Promise<Parts> {
  const share = oncePerVersion<Parts>(store, FAMILIES.length);
  return (family) => share(family, () => findParts(store, family));
}

async function findParts(store: Reader, family: Family): Promise<Parts> {
  let after = '';
  const starts = [after];
  while (starts.length < MOST_BLOCKS) {
    const [last, next] = await store.users(family, { after, skip: BLOCK_SIZE - 1, limit: 2 });
    if (last === undefined || next === undefined) break;
    after = last.key;
    starts.push(after);
    // SQLite answers at once: other requests have their turn.
    await setImmediate();
  }
  const rest = await store.users(family, { after, limit: BLOCK_SIZE });
  return { starts, count: (starts.length - 1) * BLOCK + Math.ceil(rest.length / SITEMAP_SIZE) };
}
