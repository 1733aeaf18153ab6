// The pages of people, and what stands at the addresses around them. Browsers get pages, also of what is not there;
// programs get JSON.
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, FAILURES, sendFailure } from '../../api/http/errors.ts';
import { sendRendered } from '../../api/http/fresh.ts';
import { addVary, caching, NOT_FOUND_CACHING, PRIVATE } from '../../api/http/headers.ts';
import { FAULT } from '../../api/http/input.ts';
import { PAGE } from '../../api/http/observations.ts';
import { createUserTags } from '../../api/http/user-tags.ts';
import { findMissingCode, lookupResponses, UserInput } from '../../api/lookup.ts';
import { createSuggestedUsers, type ExampleUsers } from '../../api/openapi/example-users.ts';
import { hostConstraint, isOnHost, type Mount } from '../../config/mount.ts';
import { type Config, listMounts } from '../../config/settings.ts';
import { computeEtag, joinEtags } from '../../records/etag.ts';
import type { Family } from '../../records/kinds.ts';
import { nearest } from '../../records/nearest.ts';
import { ID, isId } from '../../records/schemas.ts';
import { searchKey, searchTags } from '../../records/search-words.ts';
import { userKey } from '../../records/user-name.ts';
import type { Awaitable, Reader } from '../../stores/reader.ts';
import { VARIANTS, type Variant } from '../../variants.ts';
import { isForPeople } from '../error-pages.ts';
import { findLanguage } from '../languages/language.ts';
import { missingPage, type PageLink } from '../page.ts';
import { followHeaders, pageHeaders } from '../page-headers.ts';
import { createFollowPage } from './follow-page.ts';
import { type ItemPart, isPageBorder, readItem, readNewest, readOlder } from './history.ts';
import { createItemPage } from './item-page.ts';
import { createPictureReader, picturesTag } from './page-pictures.ts';
import type { Item, Person } from './person.ts';
import { createPersonPage, missingPerson } from './person-page.ts';
import { createPersonReplies, type PeopleOptions } from './person-replies.ts';
import type { KnownPictures } from './pictures.ts';
import { type Data, parsePerson, readPerson } from './read-person.ts';

const Params = Type.Object({ username: UserInput, item: Type.Optional(Type.String()) });
const Query = Type.Object({
  before: Type.Optional(
    Type.String({
      ...ID,
      [FAULT]: (value: unknown) => (typeof value === 'string' ? 'ROUTE_NOT_FOUND' : 'QUERY_MALFORMED'),
    }),
  ),
});
export type PersonRoute = { Params: Static<typeof Params> };

/** The options of a route with errors that are pages, too. */
export const pageRoute = (config: Config) => ({
  config: { operation: PAGE },
  schema: {
    hide: true,
    response: { ...lookupResponses(config, Type.String()), 404: Type.Any(), 410: Type.Any() },
  },
});

/** The options of a route of one user, on the host of their variant. */
export function personRoute({ config, mount }: Pick<PeopleOptions, 'config' | 'mount'>) {
  const { schema, ...options } = pageRoute(config);
  return { ...options, constraints: hostConstraint(mount.base), schema: { ...schema, params: Params } };
}

export function addPersonPages(app: FastifyInstance, options: PeopleOptions): void {
  const { variant } = options.mount;
  const route = personRoute(options);
  const { schema } = route;
  const sendPerson = createPersonSender(options);
  const sendItem = createItemSender(options);

  app.get<PersonRoute & { Querystring: Static<typeof Query> }>(
    `/people/${variant}/:username`,
    { ...route, schema: { ...schema, querystring: Query } },
    (request, reply) => sendPerson(request, reply, request.query.before),
  );
  app.get<PersonRoute>(`/people/${variant}/:username/`, route, (request, reply) => {
    const { url, params } = request;
    const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
    reply
      .header('location', `../${encodeURIComponent(params.username)}${query}`)
      .code(301)
      .send();
  });
  app.get<PersonRoute>(`/people/${variant}/:username/follow`, route, createFollowSender(options));
  app.get<PersonRoute>(`/people/${variant}/:username/:item`, route, sendItem);
}

/** The page of a user with the newest items, or with older ones. */
function createPersonSender(options: PeopleOptions) {
  const { config, mount, store } = options;
  const { variant } = mount;
  const { family } = VARIANTS[variant];
  const { createVersion } = createPersonReplies(config, mount, store);
  const render = createPersonPage(config, mount);
  const sendMissing = createMissingSender(options);
  const version = createVersion((person) => render(person) + render(person, { before: '1' }));
  const sendPage = createPageSender(options, version);

  return async (request: FastifyRequest<PersonRoute>, reply: FastifyReply, before?: string) => {
    const { username } = request.params;
    const key = userKey(username);
    const isNewest = before === undefined;
    const found = await (isNewest ? readNewest(store, variant, key) : readOlder(store, family, key, before));
    if (found === undefined) return sendMissing(request, reply, username, isNewest ? undefined : '');
    // Any item may begin a page, but only some do on the way from the newest to the oldest.
    const isKept = isNewest || (isPageBorder(before) && /\?before=\d+$/.test(request.url));
    return sendPage(reply, found, { key, isKept, isLasting: isNewest }, (person, pictures) => {
      const newer = isNewest ? undefined : (olderAddress(found.newer) ?? encodeURIComponent(person.username));
      const older = found.hasOlder ? olderAddress(person.items.at(-1)?.id) : undefined;
      return render(person, { before, older, newer, pictures });
    });
  };
}

/** The item of the page; `readItem` gives the person with this item alone. */
const itemOf = ({ items }: Person) => items[0] as Item;

const MOST_OTHERS = 5;

/** The newest items of the user, except this one, and the tags by which a search finds the user: the stored list is one read. */
async function readOthers(store: Reader, variant: Variant, key: string, id: string) {
  const newest = await readNewest(store, variant, key);
  const list = newest?.items() ?? '[]';
  const items: Data[] = JSON.parse(list);
  const others = items.filter((item) => item.id !== id).slice(0, MOST_OTHERS);
  const searched: string[] = JSON.parse(searchTags(list) ?? '[]');
  return { others, searched };
}

/** The page of one item. */
function createItemSender(options: PeopleOptions) {
  const { config, mount, store } = options;
  const { variant } = mount;
  const { family } = VARIANTS[variant];
  const { createVersion } = createPersonReplies(config, mount, store);
  const render = createItemPage(config, mount);
  const sendMissing = createMissingSender(options);
  const version = createVersion((person) => {
    const item = itemOf(person);
    return render({ person, item, others: person.items, searched: new Set(item.tags.map(searchKey)) });
  });
  const sendPage = createPageSender(options, version);

  return async (request: FastifyRequest<PersonRoute>, reply: FastifyReply) => {
    const { username, item: id = '' } = request.params;
    const key = userKey(username);
    const found = isId(id) ? await readItem(store, family, key, id) : undefined;
    if (found === undefined) return sendMissing(request, reply, username, '../');
    const { newer, behind: older } = found;
    const { others, searched } = await readOthers(store, variant, key, id);
    const part = {
      ...found,
      etag: computeEtag(found.etag + JSON.stringify([others, searched])),
      texts: () => found.texts() + JSON.stringify(others),
    };
    return sendPage(reply, part, { key, isKept: true }, (person, pictures) =>
      render({
        person,
        item: itemOf(person),
        newer,
        older,
        others: readPerson(variant, {}, others).items,
        searched: new Set(searched),
        pictures,
      }),
    );
  };
}

/** The page that explains how to follow a user. */
function createFollowSender(options: PeopleOptions) {
  const { config, mount, store } = options;
  const { family } = VARIANTS[mount.variant];
  const { createVersion } = createPersonReplies(config, mount, store);
  const render = createFollowPage(config, mount);
  const sendMissing = createMissingSender(options);
  const sendPage = createPageSender(options, createVersion(render), followHeaders(config));

  return async (request: FastifyRequest<PersonRoute>, reply: FastifyReply) => {
    const { username } = request.params;
    const key = userKey(username);
    const profile = await store.profile(family, key);
    if (profile === undefined) return sendMissing(request, reply, username, '../');
    const part = { profile, etag: '', items: () => '[]', texts: () => String(profile.body), hasOlder: false };
    return sendPage(reply, part, { key, isKept: true }, render);
  };
}

interface Keeping {
  /** Of the user's name. */
  readonly key: string;
  /** Whether shared caches may keep the page. */
  readonly isKept: boolean;
  /** Whether caches are purged when the page changes: when copies of pictures of older items are linked, they are not. */
  readonly isLasting?: boolean;
}

/** Sends a page with the pictures that are known; nothing is rendered for a client that has it. */
function createPageSender(
  { config, mount, store }: PeopleOptions,
  version: () => string,
  page = pageHeaders(config),
) {
  const { variant } = mount;
  const { family } = VARIANTS[variant];
  const tagUser = createUserTags(config);
  const readPictures = createPictureReader(config, store);

  return async (
    reply: FastifyReply,
    part: ItemPart,
    { key, isKept, isLasting = false }: Keeping,
    render: (person: Person, pictures: KnownPictures) => string,
  ): Promise<FastifyReply> => {
    const pictures = await readPictures(part.texts());
    const tags = [version(), part.profile.etag, part.etag, ...picturesTag(pictures)];
    const headers = { ...page, ...(isKept ? caching(config) : PRIVATE), etag: joinEtags(...tags) };
    tagUser(reply, family, key, isLasting);
    return sendRendered(reply, headers, () => render(parsePerson(variant, part), pictures));
  };
}

const olderAddress = (before: string | undefined) => before && `?before=${before}`;

/** Sends why there is no such page; `folder` leads to those of other users. */
function createMissingSender(options: PeopleOptions) {
  const { config, mount, store, exampleUsers } = options;
  const { family } = VARIANTS[mount.variant];
  const suggestedUsers = createSuggestedUsers(config, exampleUsers);
  const language = findLanguage(config);
  const { errors, maybeRemoved } = language.words;

  return async (request: FastifyRequest, reply: FastifyReply, username: string, folder?: string) => {
    const to = folder ?? '';
    const root = `../../${to}`;
    const profile =
      folder === undefined ? undefined : await store.profile(family, userKey(username), { known: '*' });
    if (profile !== undefined) {
      const links = [linkTo(to, username)];
      const page = { title: errors.ROUTE_NOT_FOUND.title, lead: maybeRemoved, links };
      return sendMissingPage(request, reply, config, 'ROUTE_NOT_FOUND', () =>
        missingPage(config, root, page),
      );
    }
    const code = await findMissingCode(store, config.takedownStatus, family, userKey(username));
    const users = await suggestedUsers();
    const other = await findElsewhere(options, username, to);
    // The explorer names these to everybody.
    const near = nearest(username, (await exampleUsers())[family], SHORTEST);
    const alike = config.directory ? await findAlike(store, family, username) : [];
    const others = alike.length > 0 ? alike : users[family];
    const names = near ? [near] : others;
    const links = [...other, ...names.map((name) => linkTo(to, name))];
    const page = missingPerson(username, code === 'USER_GONE', links, language);
    return sendMissingPage(request, reply, config, code, () => missingPage(config, root, page));
  };
}

const MOST_ALIKE = 5;
/** Shorter names have no near ones. */
const SHORTEST = 2;

/** Users who are called so, or with a name that begins so; by the beginning, since endings are what is misspelled. */
async function findAlike(store: Reader, family: Family, username: string): Promise<string[]> {
  const key = searchKey(username);
  for (const length of new Set([key.length, key.length - 1, Math.ceil(key.length / 2)])) {
    const beginning = key.slice(0, length).toWellFormed();
    const found = beginning === '' ? [] : await store.search(family, beginning, MOST_ALIKE);
    if (found.length > 0) return found.map((user) => user.username);
  }
  return [];
}

/** The addresses that people shorten the one of a page to, where there is no directory. */
export function addIndexes(
  app: FastifyInstance,
  config: Config,
  exampleUsers: () => Awaitable<ExampleUsers>,
): void {
  const mounts = listMounts(config);
  const suggestedUsers = createSuggestedUsers(config, exampleUsers);
  const { words } = findLanguage(config);
  const index = (url: string, root: string, shown: readonly Mount[]) =>
    app.get(url, pageRoute(config), async (request, reply) => {
      const users = await suggestedUsers();
      const links = shown
        .filter((mount) => isOnHost(mount, request.headers.host))
        .flatMap(({ variant }) =>
          users[VARIANTS[variant].family].map((name) => linkTo(`${root}people/${variant}/`, name)),
        );
      const lead = links.length > 0 ? words.somePeople : words.endsWithName;
      return sendMissingPage(request, reply, config, 'ROUTE_NOT_FOUND', () =>
        missingPage(config, root, { title: words.whosePage, lead, links }),
      );
    });
  index('/people', './', mounts.slice(0, 1));
  index('/people/', '../', mounts.slice(0, 1));
  for (const mount of mounts) {
    index(`/people/${mount.variant}`, '../', [mount]);
    index(`/people/${mount.variant}/`, '../../', [mount]);
  }
}

const linkTo = (folder: string, name: string): PageLink => ({
  name,
  href: folder + encodeURIComponent(name),
});

function sendMissingPage(
  request: FastifyRequest,
  reply: FastifyReply,
  config: Config,
  code: ErrorCode,
  page: () => string,
): FastifyReply {
  // Not for proxies, which would keep a copy for each spelling of Accept, or one for all.
  const briefly = `private, ${NOT_FOUND_CACHING}`;
  if (!isForPeople(request)) return sendFailure(reply, code, briefly);
  addVary(reply, 'Accept').headers({ ...pageHeaders(config), 'cache-control': briefly });
  return reply.code(FAILURES[code].status).send(page());
}

/** The user of the other family who has this name, if there is one on the same host. */
async function findElsewhere(
  { config, mount: { variant, base }, store }: PeopleOptions,
  name: string,
  folder: string,
): Promise<PageLink[]> {
  const { family } = VARIANTS[variant];
  const other = listMounts(config).find(
    (mount) => VARIANTS[mount.variant].family !== family && mount.base.host === base.host,
  );
  if (other === undefined) return [];
  const found = await store.profile(VARIANTS[other.variant].family, userKey(name));
  return found === undefined ? [] : [linkTo(`${folder}../${other.variant}/`, name)];
}
