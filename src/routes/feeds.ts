// A user's items as feeds. The newest are in the feed itself; older ones in archives of 15, which the feed leads to
// (RFC 5005). Archives are counted from the oldest item, so that a new item changes none: the feed holds 15 to 29.
import type { Static } from '@sinclair/typebox';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { publicOrigin } from '../config/config.ts';
import { caching, JSON_TYPE, jsonHeaders, matches, sendNotModified } from '../http/answer.ts';
import { RequestError, sendFailure } from '../http/errors.ts';
import { computeEtag } from '../records/etag.ts';
import { ITEM_CAP } from '../records/kinds.ts';
import { userKey } from '../records/user-name.ts';
import { VARIANTS } from '../variants.ts';
import { atomFeed, type Feed, jsonFeed } from '../views/feeds.ts';
import { createLook } from '../views/look.ts';
import type { Person } from '../views/person.ts';
import { readPerson } from '../views/read-person.ts';
import { hostConstraint, UserInput } from './lookup.ts';
import { pageRoute } from './person-pages.ts';
import { createPersonReplies, type PeopleOptions } from './person-replies.ts';

const Params = Type.Object({ username: UserInput, item: Type.Optional(Type.String()) });
type Named = { Params: Static<typeof Params> };

/** Ids are 1 to 2^63-1. */
const LARGEST_ID = 2n ** 63n - 1n;
const isId = (text: string) => /^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= LARGEST_ID;

/** How many of all items are in the feed itself; the rest fills archives. */
export const countCurrent = (all: number) => (all <= ITEM_CAP ? all : ITEM_CAP + (all % ITEM_CAP));

export function addFeeds(app: FastifyInstance, options: PeopleOptions): void {
  const { config, mount } = options;
  const { variant, base } = mount;
  const page = pageRoute(config);
  const route = { ...page, constraints: hostConstraint(base), schema: { ...page.schema, params: Params } };

  const add = (extension: string, type: string, write: (feed: Feed) => string) => {
    const headers = { ...jsonHeaders(config.corsOrigin), ...caching(config), 'content-type': type };
    const send = createFeedSender(options, headers, write);
    app.get<Named>(`/feeds/${variant}/:username.${extension}`, route, send);
    app.get<Named>(`/feeds/${variant}/:username/:item.${extension}`, route, send);
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
  const { family, collection } = VARIANTS[variant];
  const { absence, versionOf } = createPersonReplies(config, mount, store);
  const look = createLook(config);
  const host = publicOrigin(config) ?? config.siteUrl;
  const feedOf = (person: Person) => ({
    variant,
    person,
    title: look.titled(person.name),
    pages: config.explorer,
    origin: base.origin,
    authority: host && new URL(host).hostname,
  });
  const version = versionOf((person) => write(feedOf(person)));

  return async (request: FastifyRequest<Named>, reply: FastifyReply): Promise<FastifyReply> => {
    const { username, item: archive } = request.params;
    const key = userKey(username);
    // A user has no item 0.
    const from = archive === undefined || isId(archive) ? archive : '0';
    const history = await store.history(family, key, {
      limit: 2 * ITEM_CAP,
      ...(from !== undefined && { from }),
    });
    if (!history?.profile.body) return sendFailure(reply, await absence(username));
    const { profile, count, records } = history;
    if (archive !== undefined && (count === 0 || count % ITEM_CAP !== 0))
      throw new RequestError('ROUTE_NOT_FOUND');
    const shown = archive === undefined ? countCurrent(count) : ITEM_CAP;
    const older = records[shown] && JSON.parse(records[shown]).id;
    const items = `{"${collection}":[${records.slice(0, shown).join()}]}`;
    const etag = `"${[version(), profile.etag.slice(1, -1), computeEtag(items + older).slice(1, -1)].join('.')}"`;
    const { 'content-type': type = '', ...others } = { ...headers, etag };
    if (matches(request.headers['if-none-match'], etag)) return sendNotModified(reply, others);
    const person = readPerson(variant, history.profile.body, Buffer.from(items));
    return reply
      .headers(others)
      .type(type)
      .send(write({ ...feedOf(person), older, archive }));
  };
}
