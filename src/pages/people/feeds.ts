// A user's newest items as feeds, those of the stored list. Older ones are on the pages of the user.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendRendered } from '../../api/http/fresh.ts';
import { caching, JSON_TYPE, jsonHeaders } from '../../api/http/headers.ts';
import { publicOrigin } from '../../config/addresses.ts';
import { joinEtags } from '../../records/etag.ts';
import { userKey } from '../../records/user-name.ts';
import { VARIANTS } from '../../variants.ts';
import { findLanguage } from '../languages/language.ts';
import { createLook } from '../look.ts';
import { atomFeed, type Feed, jsonFeed } from './feed-documents.ts';
import { readNewest } from './history.ts';
import type { Person } from './person.ts';
import { type PersonRoute, personRoute } from './person-pages.ts';
import { createPersonReplies, type PeopleOptions } from './person-replies.ts';
import { parsePerson } from './read-person.ts';

export function addFeeds(app: FastifyInstance, options: PeopleOptions): void {
  const { config, mount } = options;
  const { variant } = mount;
  const route = personRoute(options);

  const add = (extension: string, type: string, write: (feed: Feed) => string) => {
    const headers = { ...jsonHeaders(config.corsOrigin), 'content-type': type };
    const send = createFeedSender(options, headers, write);
    app.get<PersonRoute>(`/feeds/${variant}/:username([^]*).${extension}`, route, send);
  };
  add('atom', 'application/atom+xml; charset=utf-8', atomFeed);
  add('json', JSON_TYPE.replace('json', 'feed+json'), jsonFeed);
}

function createFeedSender(
  { config, mount, store }: PeopleOptions,
  headers: Record<string, string>,
  write: (feed: Feed) => string,
) {
  const { variant, base } = mount;
  const { family } = VARIANTS[variant];
  const { sendMissing, tagUser, createVersion } = createPersonReplies(config, mount, store);
  const look = createLook(config);
  const language = findLanguage(config);
  const host = publicOrigin(config) ?? config.siteUrl;
  const buildFeed = (person: Person) => ({
    language,
    variant,
    person,
    title: look.titled(person.name),
    pages: config.explorer,
    origin: base.origin,
    authority: host && new URL(host).hostname,
  });
  const version = createVersion((person) => write(buildFeed(person)));

  return async (request: FastifyRequest<PersonRoute>, reply: FastifyReply): Promise<FastifyReply> => {
    const { username } = request.params;
    const key = userKey(username);
    const newest = await readNewest(store, variant, key);
    if (newest === undefined) return sendMissing(reply, username);
    const etag = joinEtags(version(), newest.profile.etag, newest.etag);
    tagUser(reply, family, key);
    return sendRendered(reply, { ...headers, ...caching(config), etag }, () =>
      write(buildFeed(parsePerson(variant, newest))),
    );
  };
}
