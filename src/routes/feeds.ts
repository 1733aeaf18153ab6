// A user's items as feeds. The newest are in the feed itself; older ones in archives, which the feed leads to (RFC 5005).
// Where an archive begins is told by the item's id alone, so no item that comes or goes changes another archive, and no
// item has to be counted.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { publicOrigin } from '../config/config.ts';
import { caching, JSON_TYPE, jsonHeaders, sendRendered, UNSHARED } from '../http/answer.ts';
import { RequestError } from '../http/errors.ts';
import { computeEtag } from '../records/etag.ts';
import { type Family, ITEM_CAP } from '../records/kinds.ts';
import { userKey } from '../records/user-name.ts';
import type { Reader } from '../stores/reader.ts';
import { VARIANTS } from '../variants.ts';
import { atomFeed, type Feed, hubHeaders, jsonFeed } from '../views/feeds.ts';
import { createLook } from '../views/look.ts';
import type { Person } from '../views/person.ts';
import { readPerson } from '../views/read-person.ts';
import { type PersonRoute, personRoute } from './person-pages.ts';
import { createPersonReplies, type PeopleOptions } from './person-replies.ts';

/** Ids are 1 to 2^63-1. */
const LARGEST_ID = 2n ** 63n - 1n;
const isId = (text: string) => /^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= LARGEST_ID;

/** One id in eight, whether they are numbered one by one or not: a multiplicative hash. */
const isBorder = (id: string) => BigInt.asUintN(32, BigInt(id) * 2_654_435_761n) < 2n ** 29n;

/** Further items, at most, where no border ends them before. */
const MOST_OLDER = 15;

/** What is in a feed, or in the archive that begins with an item, and with which item the next archive begins. */
export async function readFeed(store: Reader, family: Family, userKey: string, archive?: string) {
  const least = archive === undefined ? ITEM_CAP : 1;
  const most = least + MOST_OLDER;
  const from = archive === undefined ? {} : { from: archive };
  const history = await store.history(family, userKey, { ...from, limit: most + 1 });
  if (history === undefined) return undefined;
  const ids = history.records.map((record): string => JSON.parse(record).id);
  const border = ids.findIndex((id, nth) => nth >= least && isBorder(id));
  const shown = border === -1 ? most : border;
  return { profile: history.profile, records: history.records.slice(0, shown), older: ids[shown] };
}

export function addFeeds(app: FastifyInstance, options: PeopleOptions): void {
  const { config, mount } = options;
  const { variant } = mount;
  const route = personRoute(options);

  const add = (extension: string, type: string, write: (feed: Feed) => string) => {
    const headers = { ...jsonHeaders(config.corsOrigin), 'content-type': type };
    const send = createFeedSender(options, headers, extension, write);
    app.get<PersonRoute>(`/feeds/${variant}/:username([^]*).${extension}`, route, send);
    app.get<PersonRoute>(`/feeds/${variant}/:username/:item.${extension}`, route, send);
  };
  add('atom', 'application/atom+xml; charset=utf-8', atomFeed);
  add('json', JSON_TYPE.replace('json', 'feed+json'), jsonFeed);
}

function createFeedSender(
  { config, mount, store }: PeopleOptions,
  headers: Record<string, string>,
  extension: string,
  write: (feed: Feed) => string,
) {
  const { variant, base } = mount;
  const { family, collection } = VARIANTS[variant];
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
    hub: base.origin && config.websubHub?.href,
  });
  const version = createVersion((person) => write(buildFeed(person)));

  return async (request: FastifyRequest<PersonRoute>, reply: FastifyReply): Promise<FastifyReply> => {
    const { username, item: archive } = request.params;
    const key = userKey(username);
    // A user has no item 0.
    const from = archive === undefined || isId(archive) ? archive : '0';
    const feed = await readFeed(store, family, key, from);
    const body = feed?.profile.body;
    if (!body) return sendAbsence(reply, username);
    const { profile, records, older } = feed;
    if (archive !== undefined && records.length === 0) throw new RequestError('ROUTE_NOT_FOUND');
    const items = `{"${collection}":[${records.join()}]}`;
    const etag = `"${[version(), profile.etag.slice(1, -1), computeEtag(items + older).slice(1, -1)].join('.')}"`;
    // Any item may begin an archive, so that no address stops working; but only borders are asked for by all readers.
    const kept = archive === undefined || isBorder(archive) ? caching(config) : UNSHARED;
    // Caches are not told of items that the list of the newest does not have.
    tagUser(reply.raw, family, key, false);
    return sendRendered(reply, { ...headers, ...kept, etag }, () => {
      const person = readPerson(variant, body, Buffer.from(items));
      const shown = { ...buildFeed(person), older, archive };
      reply.headers(hubHeaders(shown, extension));
      return write(shown);
    });
  };
}
