// One user outside of JSON: a page, an image of their card, and feeds of their newest items.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { publicOrigin } from '../config/config.ts';
import { JSON_TYPE, jsonHeaders } from '../http/answer.ts';
import { sendFailure } from '../http/errors.ts';
import { PAGE } from '../http/observations.ts';
import { cardImage } from '../views/card-image.ts';
import { atomFeed, type Feed, jsonFeed } from '../views/feeds.ts';
import { createLook } from '../views/look.ts';
import type { Person } from '../views/person.ts';
import { createCopies } from './inline-copy.ts';
import { hostConstraint, lookupResponses, UserInput } from './lookup.ts';
import { INERT_WITH_PICTURE, readableHeaders } from './page-headers.ts';
import { addPersonPages } from './person-pages.ts';
import { createPersonReplies, type PeopleOptions, type Template } from './person-replies.ts';
import { GUARD, SVG } from './web-file.ts';

const Params = Type.Object({ username: UserInput });

export const people: FastifyPluginCallbackTypebox<PeopleOptions> = (app, options, done) => {
  const { config, site, store } = options;
  const { variant, base } = site;
  const { send, absence, versionOf } = createPersonReplies(config, site, store);
  if (config.explorer) addPersonPages(app, options);

  const route = {
    constraints: hostConstraint(base),
    config: { operation: PAGE },
    schema: { hide: true, params: Params, response: lookupResponses(config, Type.String()) },
  };
  const serve = (url: string, template: Template) =>
    app.get(url, route, async (request, reply) => {
      const { username } = request.params;
      if (await send(request, reply, username, template)) return reply;
      return sendFailure(reply, await absence(username));
    });

  const cached = { 'cache-control': config.cacheControl };
  const look = createLook(config);
  const copyOf = createCopies(config);
  const card = (person: Person, avatar?: string) => look.paint(cardImage(person, avatar));
  serve(`/card/${variant}/:username.svg`, {
    version: versionOf(card),
    headers: { ...GUARD, ...INERT_WITH_PICTURE, ...readableHeaders(config), ...cached, 'content-type': SVG },
    render: async (person) => card(person, await copyOf(person.smallAvatar)),
  });

  const host = publicOrigin(config) ?? config.siteUrl;
  const feedOf = (person: Person): Feed => ({
    variant,
    person,
    title: look.titled(person.name),
    pages: config.explorer,
    origin: base.origin,
    authority: host && new URL(host).hostname,
  });
  const feed = (extension: string, type: string, write: (feed: Feed) => string) => {
    const render = (person: Person) => write(feedOf(person));
    const headers = { ...jsonHeaders(config.corsOrigin), ...cached, 'content-type': type };
    serve(`/feeds/${variant}/:username.${extension}`, { version: versionOf(render), headers, render });
  };
  feed('atom', 'application/atom+xml; charset=utf-8', atomFeed);
  feed('json', JSON_TYPE.replace('json', 'feed+json'), jsonFeed);
  done();
};
