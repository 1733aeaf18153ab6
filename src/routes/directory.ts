// The list of all people, which DIRECTORY=on turns on: pages, JSON for builds, and sitemaps for search engines. Each is
// read from the store, so a user who was taken down is gone at once. ETags are made from what was read: a client that has
// it gets 304, and nothing is rendered.
import { setImmediate } from 'node:timers/promises';
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Mount } from '../config/clashes.ts';
import { type Config, listMounts, publicOrigin } from '../config/config.ts';
import { hostKey } from '../config/setting-values.ts';
import { VERSION } from '../config/version.ts';
import { caching, type Headers, JSON_TYPE, matches, sendNotModified } from '../http/answer.ts';
import { RequestError } from '../http/errors.ts';
import { computeEtag } from '../records/etag.ts';
import type { Family } from '../records/kinds.ts';
import { userKey, userNameFault } from '../records/user-name.ts';
import type { ListedUser, Reader } from '../stores/reader.ts';
import { VARIANTS } from '../variants.ts';
import { createDirectoryViews, sitemap, sitemapIndex } from '../views/directory.ts';
import { hostConstraint } from './lookup.ts';
import { pageHeaders } from './page-headers.ts';
import { pageRoute } from './person-pages.ts';
import { GUARD, TEXT } from './web-file.ts';

const PAGE_SIZE = 50;
/** The protocol allows 50,000, which would take 5 MB and as much time as hundreds of pages. */
const SITEMAP_SIZE = 1000;
const MOST_SITEMAPS = 50_000;

interface DirectoryOptions {
  readonly config: Config;
  readonly store: Reader;
}

/** What programs read: the lists as JSON, sitemaps and robots.txt. */
export const directory: FastifyPluginCallbackTypebox<DirectoryOptions> = (app, options, done) => {
  const { config } = options;
  const mounts = listMounts(config);
  const headers = { 'content-type': JSON_TYPE, ...caching(config) };
  for (const mount of mounts)
    addList(app, options, mount, { url: `/people/${mount.variant}.json`, headers, view: 'json' });
  addSitemaps(app, options, mounts);
  done();
};

/** The lists as pages. */
export const directoryPages: FastifyPluginCallbackTypebox<DirectoryOptions> = (app, options, done) => {
  const { config } = options;
  const route = pageRoute(config);
  const mounts = listMounts(config);
  const headers = { ...pageHeaders(config), ...caching(config) };
  for (const mount of mounts) {
    const url = `/people/${mount.variant}`;
    addList(app, options, mount, { url, headers, view: 'page' });
    const ofThisHost = { ...route, constraints: hostConstraint(mount.base) };
    app.get(`${url}/`, ofThisHost, (_request, reply) => void redirect(reply, `../${mount.variant}`));
  }
  for (const url of ['/people', '/people/'])
    app.get(url, route, ({ headers: { host = '' } }, reply) => {
      const first = mounts.find(({ base }) => base.host === undefined || base.host === hostKey(host));
      if (first === undefined) throw new RequestError('ROUTE_NOT_FOUND');
      redirect(reply, `${url === '/people' ? 'people/' : ''}${first.variant}`);
    });
  done();
};

interface List {
  readonly url: string;
  readonly headers: Headers;
  readonly view: keyof ReturnType<typeof createDirectoryViews>;
}

/** The users of one variant, a page at a time. */
function addList(
  app: FastifyInstance,
  { config, store }: DirectoryOptions,
  mount: Mount,
  { url, headers, view }: List,
): void {
  const { variant, base } = mount;
  const { [view]: render } = createDirectoryViews(config, mount);
  const send = createSender(config);
  app.get(url, { ...pageRoute(config), constraints: hostConstraint(base) }, async (request, reply) => {
    const after = readAfter(request);
    const found = { after: userKey(after), limit: PAGE_SIZE + 1 };
    const users = await store.users(VARIANTS[variant].family, found);
    const isLast = users.length <= PAGE_SIZE;
    const shown = users.slice(0, PAGE_SIZE);
    return send(reply, headers, [url, after, users], () => render({ users: shown, after, isLast }));
  });
}

/** Sitemaps hold absolute addresses, so there are none without a base URL that names a host. */
function addSitemaps(
  app: FastifyInstance,
  { config, store }: DirectoryOptions,
  mounts: readonly Mount[],
): void {
  const send = createSender(config);
  const route = pageRoute(config);
  const findStarts = createStarts(store);
  const xml = { ...GUARD, 'content-type': 'application/xml; charset=utf-8', ...caching(config) };
  const sites = mounts.flatMap(({ variant, base }) => {
    const origin = base.origin ?? publicOrigin(config);
    return origin === undefined ? [] : [{ variant, base, origin, family: VARIANTS[variant].family }];
  });
  const askedFor = ({ headers: { host = '' } }: FastifyRequest) => {
    const found = sites.filter(({ base }) => base.host === undefined || base.host === hostKey(host));
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
        const users = await store.users(family, { after, limit: SITEMAP_SIZE });
        const folder = `${origin}/people/${variant}`;
        return send(reply, xml, [folder, number, users], () => sitemap(folder, users, number === 1));
      },
    );
  app.get('/sitemap.xml', route, async (request, reply) => {
    const files: string[] = [];
    for (const { variant, origin, family } of askedFor(request)) {
      const starts = await findStarts(family);
      files.push(...starts.map((_, at) => `${origin}/sitemap-${variant}-${at + 1}.xml`));
    }
    return send(reply, xml, files, () => sitemapIndex(files));
  });
  app.get('/robots.txt', route, (request, reply) => {
    const origins = new Set(askedFor(request).map(({ origin }) => origin));
    const lines = [
      'User-agent: *',
      'Allow: /',
      ...[...origins].map((origin) => `Sitemap: ${origin}/sitemap.xml`),
    ];
    const headers = { ...GUARD, 'content-type': TEXT, ...caching(config) };
    send(reply, headers, lines, () => `${lines.join('\n')}\n`);
  });
}

function createSender(config: Config) {
  const { imageHosts, mediaUrl, siteName, siteLogo, siteUrl, accent } = config;
  const origins = listMounts(config).map(({ variant, base }) => [variant, base.origin]);
  const look = [siteName, siteLogo, siteUrl, accent];
  const settings = JSON.stringify([VERSION, imageHosts, mediaUrl, look, origins]);

  return function send(
    reply: FastifyReply,
    headers: Headers,
    data: unknown,
    render: () => string,
  ): FastifyReply {
    const etag = computeEtag(settings + JSON.stringify(data));
    const { 'content-type': type = '', ...others } = { ...headers, etag };
    if (matches(reply.request.headers['if-none-match'], etag)) return sendNotModified(reply, others);
    return reply.headers(others).type(type).send(render());
  };
}

const redirect = (reply: FastifyReply, location: string) =>
  reply.header('location', location).code(301).send();

function readAfter({ url }: FastifyRequest): string {
  const after = new URLSearchParams(url.slice(url.indexOf('?') + 1 || url.length)).get('after') ?? '';
  if (after !== '' && userNameFault(after) !== undefined) throw new RequestError('USER_MALFORMED');
  return after;
}

/** The key after which each sitemap of a family begins, found once for each version of the data. */
function createStarts(store: Reader): (family: Family) => Promise<readonly string[]> {
  const known = new Map<Family, { version: number; starts: Promise<readonly string[]> }>();

  async function find(family: Family): Promise<readonly string[]> {
    const starts = [''];
    while (starts.length < MOST_SITEMAPS) {
      const [last, next]: readonly ListedUser[] = await store.users(family, {
        after: starts.at(-1) as string,
        skip: SITEMAP_SIZE - 1,
        limit: 2,
      });
      if (last === undefined || next === undefined) break;
      starts.push(last.key);
      // SQLite answers at once: other requests have their turn.
      await setImmediate();
    }
    return starts;
  }

  return (family) => {
    const version = store.version();
    let entry = known.get(family);
    if (entry?.version !== version) {
      entry = { version, starts: find(family) };
      known.set(family, entry);
      entry.starts.catch(() => known.delete(family));
    }
    return entry.starts;
  };
}
