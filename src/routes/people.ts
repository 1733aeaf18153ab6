// One user outside of JSON: the explorer opened on them, an image of their card, and feeds of their newest items.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Site } from '../config/clashes.ts';
import { type Config, publicOrigin } from '../config/config.ts';
import { VERSION } from '../config/version.ts';
import { matches } from '../http/conditional.ts';
import { type Headers, JSON_TYPE, jsonHeaders, NOT_FOUND_CACHING } from '../http/headers.ts';
import { PAGE } from '../http/operations.ts';
import { sendFailure, sendNotModified } from '../http/replies.ts';
import { etagOf } from '../records/etag.ts';
import { UserName, userKey } from '../records/user-name.ts';
import type { Awaitable, PersonAnswers, Reader } from '../stores/reader.ts';
import { VARIANTS } from '../variants.ts';
import { cardImage } from '../views/card-image.ts';
import type { ExplorerPage } from '../views/explorer-page.ts';
import { atomFeed, type Feed, jsonFeed } from '../views/feeds.ts';
import { type Person, readPerson, specimen } from '../views/person.ts';
import { personPage, unknownPage } from '../views/person-page.ts';
import { type ExampleUsers, forUsers } from './example-users.ts';
import { createCopies } from './inline-copy.ts';
import { lookupResponses, missingUser, siteConstraint } from './lookup.ts';
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

/** A way to show a user. */
interface Template {
  /** Changes with everything that shapes what is rendered, but for the user's data. */
  readonly version: () => string;
  readonly headers: Headers;
  render(person: Person): Awaitable<string>;
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
  const { send, absence } = createPersonReplies(config, site, store);
  const settings = JSON.stringify([VERSION, config.imageHosts, config.mediaUrl]);
  /** No start waits for the specimen. */
  const versionOf = (render: (person: Person) => string) => {
    let version: string | undefined;
    return () => (version ??= etagOf(settings + render(specimen(variant))).slice(1, -1));
  };

  const page = {
    ...route,
    schema: {
      ...route.schema,
      response: { ...route.schema.response, 404: Type.String(), 410: Type.String() },
    },
  };
  if (explorerPage !== undefined) {
    const headers = { ...explorerHeaders(config), ...cached };
    const template = forUsers((users): Template => {
      const render = (person: Person) => explorerPage(users, personPage(site, person));
      return { render, version: versionOf(render), headers };
    });
    app.get(`/people/${variant}/:username`, page, async (request, reply) => {
      const { username } = request.params;
      const users = await exampleUsers();
      if (await send(request, reply, username, template(users))) return reply;
      const status = (await absence(username)) === 'USER_GONE' ? 410 : 404;
      reply.headers({ ...headers, 'cache-control': NOT_FOUND_CACHING });
      return reply.code(status).send(explorerPage(users, unknownPage(username)));
    });
  }

  const serve = (url: string, template: Template) =>
    app.get(url, route, async (request, reply) => {
      const { username } = request.params;
      if (await send(request, reply, username, template)) return reply;
      return sendFailure(reply, await absence(username));
    });

  const copyOf = createCopies(config);
  serve(`/card/${variant}/:username.svg`, {
    version: versionOf(cardImage),
    headers: { ...GUARD, ...INERT_WITH_PICTURE, ...readableHeaders(config), ...cached, 'content-type': SVG },
    render: async (person) => cardImage(person, await copyOf(person.smallAvatar)),
  });

  const { origin } = site.base;
  const host = publicOrigin(config);
  const authority = host && new URL(host).hostname;
  const feed = (extension: string, type: string, write: (feed: Feed) => string) => {
    const render = (person: Person) => write({ variant, person, pages: config.explorer, origin, authority });
    const headers = { ...jsonHeaders(config.corsOrigin), ...cached, 'content-type': type };
    serve(`/feeds/${variant}/:username.${extension}`, { version: versionOf(render), headers, render });
  };
  feed('atom', 'application/atom+xml; charset=utf-8', atomFeed);
  feed('json', JSON_TYPE.replace('json', 'feed+json'), jsonFeed);
  done();
};

function createPersonReplies({ takedownStatus }: Config, { variant }: Site, store: Reader) {
  const { family, collection } = VARIANTS[variant];

  const read = (key: string, known?: string) => store.person(family, key, collection, known);

  return {
    /**
     * Sends a user; false if there is none with this name. The ETag consists of the template's version and the ETags of
     * the data, so that nothing is rendered, and no body read, for a client that has the page.
     */
    async send(
      request: FastifyRequest,
      reply: FastifyReply,
      name: string,
      template: Template,
    ): Promise<boolean> {
      const key = userKey(name);
      const known = request.headers['if-none-match'];
      let found = await read(key, known?.replaceAll('.', '" "'));
      if (found !== undefined && matches(known, etagFor(template, found))) {
        const { 'content-type': _, ...headers } = template.headers;
        sendNotModified(reply, { ...headers, etag: etagFor(template, found) });
        return true;
      }
      // The client may know one of the two, or another template.
      if (found?.some(({ body }) => body === null)) found = await read(key);
      const [profile, items] = found ?? [];
      if (found === undefined || !profile?.body || !items?.body) return false;
      const text = await template.render(readPerson(variant, profile.body, items.body));
      reply.headers({ ...template.headers, etag: etagFor(template, found) }).send(text);
      return true;
    },

    /** Why there is nobody with this name. */
    absence: (name: string) => missingUser(store, takedownStatus, family, userKey(name)),
  };
}

/** ETags of data have no dot, see `etagOf`. */
const etagFor = ({ version }: Template, answers: PersonAnswers) =>
  `"${[version(), ...answers.map(({ etag }) => etag.slice(1, -1))].join('.')}"`;
