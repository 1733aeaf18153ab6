// The list of all people, which DIRECTORY=on turns on: pages, and JSON for builds. Each is read from the store, so a user who
// was taken down is gone at once. ETags are made from those of the profiles: for a client that has it, nothing is rendered.

import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../../api/http/errors.ts';
import { sendRendered } from '../../api/http/fresh.ts';
import { caching, type Headers, JSON_TYPE, PRIVATE } from '../../api/http/headers.ts';
import { FAULT } from '../../api/http/input.ts';
import type { Mount } from '../../config/mount.ts';
import { hostConstraint, isOnHost } from '../../config/mount.ts';
import { type Config, listMounts } from '../../config/settings.ts';
import { computeEtag } from '../../records/etag.ts';
import { type Family, findKind } from '../../records/kinds.ts';
import { searchKey } from '../../records/search-words.ts';
import { UserName, userKey } from '../../records/user-name.ts';
import type { Reader } from '../../stores/reader.ts';
import { LAST } from '../../stores/sql/word-statements.ts';
import { VARIANTS } from '../../variants.ts';
import { pageHeaders } from '../page-headers.ts';
import { createPictureReader } from '../people/page-pictures.ts';
import { pageRoute } from '../people/person-pages.ts';
import { describeSettings } from '../people/person-replies.ts';
import { readEntry } from '../people/read-person.ts';
import {
  createDirectoryJson,
  createDirectoryPage,
  type DirectoryPage,
  type Letter,
  WORKS_SHOWN,
} from './directory-page.ts';
import { oncePerVersion } from './once-per-version.ts';

const PAGE_SIZE = 50;

/** The name that a page begins behind. */
const After = Type.Union([Type.Unsafe<string>(UserName), Type.Literal('')], {
  [FAULT]: (value: unknown) => (typeof value === 'string' ? 'USER_MALFORMED' : 'QUERY_MALFORMED'),
});
/** What names are looked for by. */
const Search = Type.String({ [FAULT]: 'QUERY_MALFORMED' });
const Query = Type.Object({ after: Type.Optional(After), q: Type.Optional(Search) });

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
    addList(app, options, mount, {
      url: `/people/${mount.variant}.json`,
      headers,
      render: createDirectoryJson(mount),
    });
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
    addList(app, options, mount, { url, headers, render: createDirectoryPage(config, mount) });
    const ofThisHost = { ...route, constraints: hostConstraint(mount.base) };
    app.get(
      `${url}/`,
      ofThisHost,
      (request, reply) => void redirect(reply, `../${mount.variant}${queryOf(request)}`),
    );
  }
  const starts: [url: string, folder: string][] = [
    ['/', 'people/'],
    ['/people', 'people/'],
    ['/people/', ''],
  ];
  for (const [url, folder] of starts)
    app.get(url, route, async (request, reply) => {
      const here = mounts.filter((mount) => isOnHost(mount, request.headers.host));
      const [first = here[0]] = await listInhabited(options.store, here);
      if (first === undefined) throw new RequestError('ROUTE_NOT_FOUND');
      // There may be other people tomorrow, or no directory.
      return redirect(reply, folder + first.variant + queryOf(request), 302);
    });
  done();
};

/** The first variant of each family that has users. */
async function listInhabited(store: Reader, mounts: readonly Mount[]): Promise<Mount[]> {
  const found = new Map<Family, Mount>();
  for (const mount of mounts) {
    const { family } = VARIANTS[mount.variant];
    if (!found.has(family) && (await store.users(family, { limit: 1 })).length > 0) found.set(family, mount);
  }
  return [...found.values()];
}

interface List {
  readonly url: string;
  readonly headers: Headers;
  readonly render: (page: DirectoryPage) => string;
}

/** The users of one variant, a page at a time. */
function addList(
  app: FastifyInstance,
  options: DirectoryOptions,
  mount: Mount,
  { url, headers, render }: List,
): void {
  const { config } = options;
  const hasWorks = VARIANTS[mount.variant].family === 'portfolio' && headers['content-type'] !== JSON_TYPE;
  const readPage = createPageReader(options, mount, hasWorks);
  // A logo may be long.
  const settings = computeEtag(describeSettings(config));
  const { schema, ...route } = pageRoute(config);
  const onHost = {
    ...route,
    constraints: hostConstraint(mount.base),
    schema: { ...schema, querystring: Query },
  };
  app.get<{ Querystring: Static<typeof Query> }>(url, onHost, async (request, reply) => {
    const { users, shots, pictures, ...rest } = await readPage(request.query);
    // Every name, and everything that is looked for, would be an address of its own in a cache.
    const isKept = request.query.after === undefined && request.query.q === undefined;
    const kept = isKept ? caching(config) : PRIVATE;
    const shown = [url, rest, users.map(({ etag }) => etag), shots, ...pictures];
    const etag = computeEtag(settings + JSON.stringify(shown));
    return sendRendered(reply, { ...headers, ...kept, etag }, () => {
      const shotsOf = hasWorks ? Map.groupBy(shots, ({ key }) => key) : undefined;
      const people = users.map((user) => readEntry(user, shotsOf && (shotsOf.get(user.key) ?? [])));
      return render({ people, pictures, ...rest });
    });
  });
}

/** Reads a page of users, and what else it shows. */
function createPageReader({ config, store }: DirectoryOptions, mount: Mount, hasWorks: boolean) {
  const { family } = VARIANTS[mount.variant];
  const readAround = createAroundReader(config, store, mount);
  const readPictures = createPictureReader(config, store);

  return async ({ after = '', q = '' }: Static<typeof Query>) => {
    const query = q.slice(0, LONGEST_SEARCH);
    const key = searchKey(query);
    const found =
      key === ''
        ? await store.users(family, { after: userKey(after), limit: PAGE_SIZE + 1 })
        : await store.search(family, key, PAGE_SIZE + 1);
    const users = found.slice(0, PAGE_SIZE);
    const around = key === '' ? await readAround(after) : { query };
    const keys = users.map((user) => user.key);
    const shots = hasWorks ? await store.newestShots(keys, WORKS_SHOWN) : [];
    const named = [
      ...users.map(({ avatar }) => avatar),
      ...shots.flatMap((shot) => [shot.image, shot.large_image]),
    ];
    const pictures = await readPictures(named.join(' '));
    return { users, shots, pictures, after, isLast: found.length <= PAGE_SIZE, ...around };
  };
}

/** Reads what a page of the list shows besides its users. */
function createAroundReader(config: Config, store: Reader, { variant, base }: Mount) {
  const { family } = VARIANTS[variant];
  const findLetters = createLetters(store, family);
  const elsewhere = listMounts(config).filter(
    (other) => VARIANTS[other.variant].family !== family && other.base.host === base.host,
  );

  return async (after: string) => {
    const before = { upTo: userKey(after), skip: PAGE_SIZE, limit: 1 };
    const [previous] = after === '' ? [] : await store.users(family, before);
    const counts = await store.counts();
    const others = await listInhabited(store, elsewhere);
    return {
      previous: previous?.username ?? '',
      letters: await findLetters(),
      count: counts[findKind(family, 'profile')],
      others: others.map((other) => other.variant),
    };
  };
}

const LONGEST_SEARCH = 255;
/** Characters that names begin with, of which only letters are shown. */
const MOST_LETTERS = 100;

/** The letters that user names begin with, each with the name before the first of them; kept until the data changes. */
function createLetters(store: Reader, family: Family): () => Promise<readonly Letter[]> {
  const share = oncePerVersion<readonly Letter[]>(store, 1);

  async function find(): Promise<readonly Letter[]> {
    const letters: Letter[] = [];
    let last = { key: '', username: '' };
    for (let found = 0; found < MOST_LETTERS; found++) {
      const [first] = await store.users(family, { after: last.key, limit: 1 });
      if (first === undefined) break;
      const [letter = ''] = first.key;
      if (/\p{L}/u.test(letter)) letters.push({ letter: letter.toUpperCase(), after: last.username });
      [last = first] = await store.users(family, { upTo: letter + LAST, limit: 1 });
    }
    return letters;
  }

  return () => share(family, find);
}

/** What was asked for, with its question mark. */
const queryOf = ({ url }: FastifyRequest) => (url.includes('?') ? url.slice(url.indexOf('?')) : '');

const redirect = (reply: FastifyReply, location: string, status = 301) =>
  reply.header('location', location).code(status).send();
