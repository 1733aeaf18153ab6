// The list of all people, which DIRECTORY=on turns on: pages, and JSON for builds. Each is read from the store, so a user who
// was taken down is gone at once. ETags are made from what was read: a client that has it gets 304, and nothing is rendered.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Mount } from '../config/clashes.ts';
import { type Config, listMounts } from '../config/config.ts';
import { hostKey } from '../config/setting-values.ts';
import { VERSION } from '../config/version.ts';
import { caching, type Headers, JSON_TYPE, sendRendered, UNSHARED } from '../http/answer.ts';
import { RequestError } from '../http/errors.ts';
import { computeEtag } from '../records/etag.ts';
import { userKey, userNameFault } from '../records/user-name.ts';
import type { Reader } from '../stores/reader.ts';
import { VARIANTS } from '../variants.ts';
import { directoryJson, directoryPage } from '../views/directory.ts';
import { readPerson } from '../views/read-person.ts';
import { hostConstraint } from './lookup.ts';
import { pageRoute } from './person-pages.ts';
import { pageHeaders } from './web-file.ts';

const PAGE_SIZE = 50;

interface DirectoryOptions {
  readonly config: Config;
  readonly store: Reader;
}

/** The lists as JSON. */
export const directory: FastifyPluginCallbackTypebox<DirectoryOptions> = (app, options, done) => {
  const { config } = options;
  const mounts = listMounts(config);
  const headers = { 'content-type': JSON_TYPE };
  for (const mount of mounts)
    addList(app, options, mount, { url: `/people/${mount.variant}.json`, headers, render: directoryJson });
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
    addList(app, options, mount, { url, headers, render: directoryPage });
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
  readonly render: typeof directoryPage;
}

/** The users of one variant, a page at a time. */
function addList(
  app: FastifyInstance,
  { config, store }: DirectoryOptions,
  mount: Mount,
  { url, headers, render }: List,
): void {
  const { variant, base } = mount;
  const { family, collection } = VARIANTS[variant];
  const noItems = Buffer.from(JSON.stringify({ [collection]: [] }));
  const settings = describeSettings(config);
  app.get(url, { ...pageRoute(config), constraints: hostConstraint(base) }, async (request, reply) => {
    const after = readAfter(request);
    const found = { after: userKey(after), limit: PAGE_SIZE + 1 };
    const users = await store.users(family, found);
    const isLast = users.length <= PAGE_SIZE;
    // Every name would be an address of its own in a cache.
    const kept = after === '' ? caching(config) : UNSHARED;
    const etag = computeEtag(settings + JSON.stringify([url, after, users]));
    return sendRendered(reply, { ...headers, ...kept, etag }, () => {
      const shown = users.slice(0, PAGE_SIZE);
      const people = shown.map(({ profile }) => readPerson(variant, Buffer.from(profile), noItems));
      return render(mount, { people, after, isLast }, config);
    });
  });
}

/** All that shapes a list besides its users. */
function describeSettings(config: Config): string {
  const { imageHosts, mediaUrl, siteName, siteLogo, siteUrl, accent } = config;
  const origins = listMounts(config).map(({ variant, base }) => [variant, base.origin]);
  return JSON.stringify([VERSION, imageHosts, mediaUrl, siteName, siteLogo, siteUrl, accent, origins]);
}

const redirect = (reply: FastifyReply, location: string) =>
  reply.header('location', location).code(301).send();

function readAfter({ url }: FastifyRequest): string {
  const after = new URLSearchParams(url.slice(url.indexOf('?') + 1 || url.length)).get('after') ?? '';
  if (after !== '' && userNameFault(after) !== undefined) throw new RequestError('USER_MALFORMED');
  return after;
}
