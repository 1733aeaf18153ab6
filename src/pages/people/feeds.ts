// A user's items as feeds. The newest are in the feed itself; older ones in archives, which the feed leads to (RFC 5005).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../../api/http/errors.ts';
import { sendRendered } from '../../api/http/fresh.ts';
import { caching, JSON_TYPE, jsonHeaders, PRIVATE } from '../../api/http/headers.ts';
import { publicOrigin } from '../../config/addresses.ts';
import { joinEtags } from '../../records/etag.ts';
import { userKey } from '../../records/user-name.ts';
import { VARIANTS } from '../../variants.ts';
import { createLook } from '../look.ts';
import { atomFeed, type Feed, jsonFeed } from './feed-documents.ts';
import { isFeedBorder, isId, readFeed } from './history.ts';
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
    app.get<PersonRoute>(`/feeds/${variant}/:username/:item.${extension}`, route, send);
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
  const { sendAbsence, tagUser, createVersion } = createPersonReplies(config, mount, store);
  const look = createLook(config);
  const host = publicOrigin(config) ?? config.siteUrl;
  const buildFeed = (person: Person) => ({
    variant,
    person,
    title: look.titled(person.name),
    pages: config.explorer,
    origin: base.origin,
    authority: host && new URL(host).hostname,
  });
  const version = createVersion((person) => write(buildFeed(person)));

  return async (request: FastifyRequest<PersonRoute>, reply: FastifyReply): Promise<FastifyReply> => {
    const { username, item: archive } = request.params;
    const key = userKey(username);
    // A user has no item 0.
    const from = archive === undefined || isId(archive) ? archive : '0';
    const feed = await readFeed(store, family, key, from);
    if (feed === undefined) return sendAbsence(reply, username);
    const { profile, behind: older } = feed;
    if (archive !== undefined && feed.isEmpty) throw new RequestError('ROUTE_NOT_FOUND');
    const etag = joinEtags(version(), profile.etag, feed.etag);
    // Any item may begin an archive, so that no address stops working; but only borders are asked for by all readers.
    const kept = archive === undefined || isFeedBorder(archive) ? caching(config) : PRIVATE;
    // Caches are not purged of items that the list of the newest does not have.
    tagUser(reply.raw, family, key, false);
    return sendRendered(reply, { ...headers, ...kept, etag }, () =>
      write({ ...buildFeed(parsePerson(variant, feed)), older, archive }),
    );
  };
}
