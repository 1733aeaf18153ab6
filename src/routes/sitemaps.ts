// Sitemaps for search engines, and robots.txt, which names them (sitemaps.org, protocol 0.9). The protocol allows 50,000
// addresses in a file; with 1,000 each takes 7 ms to make, so nothing is kept but where each begins.
import { setImmediate } from 'node:timers/promises';
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { type Config, listMounts, publicOrigin } from '../config/config.ts';
import { hostKey } from '../config/setting-values.ts';
import { caching } from '../http/answer.ts';
import { RequestError } from '../http/errors.ts';
import type { Family } from '../records/kinds.ts';
import type { Reader } from '../stores/reader.ts';
import { VARIANTS } from '../variants.ts';
import { sitemap, sitemapIndex } from '../views/directory.ts';
import { hostConstraint } from './lookup.ts';
import { pageRoute } from './person-pages.ts';
import { createAsset, sendAsset, TEXT } from './web-file.ts';

const SITEMAP_SIZE = 1000;
/** The protocol's limit for an index. */
const MOST_SITEMAPS = 50_000;

interface SitemapOptions {
  readonly config: Config;
  readonly store: Reader;
}

/** Sitemaps hold absolute addresses, so there are none without a base URL that names a host. */
export const sitemaps: FastifyPluginCallbackTypebox<SitemapOptions> = (app, { config, store }, done) => {
  const route = pageRoute(config);
  const xml = { 'content-type': 'application/xml; charset=utf-8', ...caching(config) };
  const text = { 'content-type': TEXT, ...caching(config) };
  const findStarts = createStarts(store);
  const sites = listMounts(config).flatMap((mount) => {
    const origin = mount.base.origin ?? publicOrigin(config);
    return origin === undefined ? [] : [{ ...mount, origin, family: VARIANTS[mount.variant].family }];
  });
  const sitesFor = ({ headers: { host = '' } }: FastifyRequest) => {
    const found = sites.filter(({ base }) => base.host === undefined || base.host === hostKey(host));
    if (found.length === 0) throw new RequestError('ROUTE_NOT_FOUND');
    return found;
  };

  for (const { variant, base, origin, family } of sites)
    app.get<{ Params: { number: string } }>(
      `/sitemap-${variant}-:number.xml`,
      { ...route, constraints: hostConstraint(base) },
      async (request, reply) => {
        const after = (await findStarts(family))[Number(request.params.number) - 1];
        if (after === undefined) throw new RequestError('ROUTE_NOT_FOUND');
        const users = await store.users(family, { after, limit: SITEMAP_SIZE });
        const directory = `${origin}/people/${variant}`;
        const pages = users.map(({ username }) => `${directory}/${encodeURIComponent(username)}`);
        return sendAsset(reply, createAsset(sitemap(after === '' ? [directory, ...pages] : pages), xml));
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

/** The key of the name after which each sitemap of a family begins, kept until the data changes. */
function createStarts(store: Reader): (family: Family) => Promise<readonly string[]> {
  const known = new Map<Family, { version: number; starts: Promise<readonly string[]> }>();

  async function find(family: Family): Promise<readonly string[]> {
    const starts = [''];
    while (starts.length < MOST_SITEMAPS) {
      const options = { after: starts.at(-1) as string, skip: SITEMAP_SIZE - 1, limit: 2 };
      const [last, next] = await store.users(family, options);
      if (last === undefined || next === undefined) break;
      starts.push(last.key);
      // SQLite answers at once: other requests have their turn.
      await setImmediate();
    }
    return starts;
  }

  return (family) => {
    const version = store.version();
    const made = known.get(family);
    if (made?.version === version) return made.starts;
    const starts = find(family);
    known.set(family, { version, starts });
    starts.catch(() => known.get(family)?.starts === starts && known.delete(family));
    return starts;
  };
}
