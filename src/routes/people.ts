// One user outside of JSON: the explorer opened on them, an image of their card, and feeds of their newest items.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { FastifyReply } from 'fastify';
import type { Site } from '../config/address-clashes.ts';
import type { Config } from '../config/config.ts';
import { type Headers, JSON_TYPE, jsonHeaders, NOT_FOUND_CACHING } from '../http/headers.ts';
import { PAGE } from '../http/operations.ts';
import { createAsset, sendAsset, sendFailure } from '../http/replies.ts';
import { UserName, userKey } from '../records/user-name.ts';
import type { Awaitable, Reader } from '../stores/reader.ts';
import { VARIANTS } from '../variants.ts';
import { cardImage } from '../views/card-image.ts';
import type { ExplorerPage } from '../views/explorer-page.ts';
import { atomFeed, type FeedOf, jsonFeed } from '../views/feeds.ts';
import { type Person, personOf } from '../views/person.ts';
import { personPage, unknownPage } from '../views/person-page.ts';
import type { ExampleUsers } from './example-users.ts';
import { createCopies } from './inline-copy.ts';
import { lookupResponses, siteConstraint } from './lookup.ts';
import { explorerHeaders, INERT_WITH_PICTURE, readableHeaders } from './pages.ts';
import { GUARD, SVG } from './web-file.ts';

const Params = Type.Object({ username: UserName });

export interface PeopleOptions {
  readonly config: Config;
  readonly site: Site;
  readonly store: Reader;
  readonly exampleUsers: () => Awaitable<ExampleUsers>;
  /** Undefined when the explorer is off. */
  readonly explorerPage: ExplorerPage | undefined;
}

export const people: FastifyPluginCallbackTypebox<PeopleOptions> = (app, options, done) => {
  const { config, site, store, exampleUsers, explorerPage } = options;
  const { variant } = site;
  const route = {
    constraints: siteConstraint(site.base),
    config: { operation: PAGE },
    schema: { hide: true, params: Params, response: lookupResponses(config, Type.String()) },
  };
  const cached = { 'cache-control': config.cacheControl };
  const copyOf = createCopies(config);
  const find = (name: string) => findPerson(store, site, name);
  /** Why there is nobody. */
  const absence = async (name: string) => {
    const isGone =
      config.takedownStatus === '410' && (await store.isTakenDown(VARIANTS[variant].family, userKey(name)));
    return isGone ? 'USER_GONE' : 'USER_NOT_FOUND';
  };

  const page = {
    ...route,
    schema: {
      ...route.schema,
      response: { ...route.schema.response, 404: Type.String(), 410: Type.String() },
    },
  };
  if (explorerPage !== undefined)
    app.get(`/people/${variant}/:username`, page, async (request, reply) => {
      const { username } = request.params;
      const [person, users] = await Promise.all([find(username), exampleUsers()]);
      const headers = explorerHeaders(config);
      if (person !== undefined)
        return sendText(reply, explorerPage(users, personPage(site, person)), { ...headers, ...cached });
      reply.headers({ ...headers, 'cache-control': NOT_FOUND_CACHING });
      const status = (await absence(username)) === 'USER_GONE' ? 410 : 404;
      return reply.code(status).send(explorerPage(users, unknownPage(username)));
    });

  app.get(`/card/${variant}/:username.svg`, route, async (request, reply) => {
    const person = await find(request.params.username);
    if (person === undefined) return sendFailure(reply, await absence(request.params.username));
    const headers = { ...GUARD, ...INERT_WITH_PICTURE, ...readableHeaders(config), ...cached };
    const avatar = await copyOf(person.smallAvatar);
    return sendText(reply, cardImage(person, avatar), { ...headers, 'content-type': SVG });
  });

  const feed = (extension: string, type: string, write: (feed: FeedOf) => string) =>
    app.get(`/feeds/${variant}/:username.${extension}`, route, async (request, reply) => {
      const person = await find(request.params.username);
      if (person === undefined) return sendFailure(reply, await absence(request.params.username));
      const headers = { ...jsonHeaders(config.corsOrigin), ...cached, 'content-type': type };
      return sendText(reply, write({ variant, person, pages: config.explorer }), headers);
    });
  feed('atom', 'application/atom+xml; charset=utf-8', atomFeed);
  feed('json', JSON_TYPE.replace('json', 'feed+json'), jsonFeed);
  done();
};

const sendText = (reply: FastifyReply, text: string, headers: Headers) =>
  sendAsset(reply, createAsset(text, headers));

async function findPerson(store: Reader, { variant }: Site, name: string): Promise<Person | undefined> {
  const { family, collection } = VARIANTS[variant];
  const key = userKey(name);
  const [profile, items] = await Promise.all([
    store.profile(family, key),
    store.items(family, key, collection),
  ]);
  if (!profile?.body || !items?.body) return undefined;
  return personOf(variant, profile.body, items.body);
}
