// What is published: every answer of the app. Lookups, which are most of the files, are read from the store as their routes
// do, with the headers of one answer of the route.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Mount } from '../config/clashes.ts';
import { type Config, listMounts } from '../config/config.ts';
import { findMediaFolder } from '../config/media.ts';
import { JSON_TYPE } from '../http/answer.ts';
import { ERROR_CODES, type ErrorCode, FAILURES } from '../http/errors.ts';
import { computeEtag } from '../records/etag.ts';
import { FAMILIES, type Family } from '../records/kinds.ts';
import { MEDIA_NAME, mediaPath, mediaType } from '../records/media-types.ts';
import { readFeed } from '../routes/feeds.ts';
import type { Change, News } from '../stores/changes.ts';
import type { Awaitable, Reader, UserEntry } from '../stores/reader.ts';
import { lookupAddresses, VARIANTS } from '../variants.ts';
import { type Asker, type Content, toContent } from './ask.ts';
import type { Place } from './manifest.ts';
import { dataFile, FEEDS, type SiteFile, spell } from './targets.ts';

/** Parts that may be left out. */
export type Part = 'pages' | 'cards' | 'previews' | 'feeds' | 'media';

/** A file that is published, at one or several paths. */
export interface Answered {
  readonly paths: readonly { readonly path: string; readonly address?: string | undefined }[];
  /** What the server answers to a client that has this ETag; undefined where there is nothing. */
  ask(known: string | undefined): Awaitable<Content | 'same' | undefined>;
}

/** Files that belong together: those of a user, or one. */
export interface Unit extends Place {
  readonly files: readonly Answered[];
}

export interface SourceOptions {
  readonly asker: Asker;
  readonly config: Config;
  readonly store: Reader;
  readonly without: ReadonlySet<Part>;
  /** The users to look at. */
  readonly changes: News['changes'];
  /** Called for a user whose name is too long for a file. */
  readonly onTooLong: () => void;
}

/** Whose files are made: the key, and all spellings that have a file. */
interface User {
  readonly family: Family;
  readonly key: string;
  readonly names: readonly string[];
}

/** The groups of the manifest after those of files that are there once. */
const groupOf = (family: Family) => FAMILIES.indexOf(family) + 1;
const COPIES = FAMILIES.length + 1;

export const isOfUser = ({ group }: Pick<Place, 'group'>) => group > 0 && group < COPIES;

/** Everything that may have changed, in the order of the manifest. */
export async function* listUnits(
  options: SourceOptions,
  site: ReadonlyMap<string, SiteFile>,
): AsyncGenerator<Unit> {
  for (const code of ERROR_CODES.toSorted()) yield errorFile(code);
  for (const [path, { host, address }] of site)
    yield { group: 0, user: path, files: [answered(options, [{ path, address }], path, host)] };
  for (const family of FAMILIES)
    for await (const user of listUsers(options, family))
      yield { group: groupOf(family), user: user.key, files: await userFiles(options, user) };
  yield* listCopies(options);
}

/** The body of an error, which has no address. */
function errorFile(code: ErrorCode): Unit {
  const path = `errors/${code}.json`;
  const { body } = FAILURES[code];
  const etag = computeEtag(body);
  const ask = (known?: string) => (known === etag ? ('same' as const) : { etag, type: JSON_TYPE, body });
  return { group: 0, user: path, files: [{ paths: [{ path }], ask }] };
}

const USERS_AT_ONCE = 200;

/** The users of a family that is served, in the order of their keys. One who is gone has no names. */
async function* listUsers(options: SourceOptions, family: Family): AsyncGenerator<User> {
  if (mountsOf(options, family).length === 0) return;
  for await (const { key, username } of listNames(options, family)) {
    const all = username === undefined ? [] : [...new Set([key, username])];
    const names = all.filter((name) => spell(name) !== undefined);
    if (username !== undefined && names.length === 0) options.onTooLong();
    yield { family, key, names };
  }
}

async function* listNames(
  { changes, store }: SourceOptions,
  family: Family,
): AsyncGenerator<Pick<Change, 'key' | 'username'>> {
  if (changes !== 'everything') {
    yield* changes.filter((change) => change.family === family);
    return;
  }
  for (let after = ''; ; ) {
    const page: readonly UserEntry[] = await store.users(family, { after, limit: USERS_AT_ONCE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < USERS_AT_ONCE) return;
    after = last.key;
  }
}

const mountsOf = ({ config }: SourceOptions, family: Family): Mount[] =>
  listMounts(config).filter(({ variant }) => VARIANTS[variant].family === family);

async function userFiles(options: SourceOptions, user: User): Promise<Answered[]> {
  if (user.names.length === 0) return [];
  const mounts = mountsOf(options, user.family);
  const archives = options.without.has('feeds') ? [] : await findArchives(options, user);
  return mounts.flatMap((mount) => [
    ...lookupFiles(options, mount, user),
    ...shownFiles(options, mount, user, archives),
  ]);
}

function lookupFiles({ asker, store }: SourceOptions, { variant, base }: Mount, user: User): Answered[] {
  const { family, key, names } = user;
  const { style, collection } = VARIANTS[variant];
  const find = {
    profile: (known: string, gzip: boolean) => store.profile(family, key, { known, gzip }),
    items: (known: string, gzip: boolean) => store.items(family, key, collection, { known, gzip }),
  };
  return (['profile', 'items'] as const).map((lookup) => {
    const paths = names.map((name) => ({
      path: dataFile(variant, lookup, spell(name) as string),
      address: lookupAddresses(style, base.path, name)[lookup],
    }));
    const pack = async () => {
      const found = await find[lookup]('', true);
      return found?.isGzip ? found.body : undefined;
    };
    asker.note('data', paths[0]?.path as string, paths[0]?.address as string, base.host);
    return { paths, ask: async (known = '') => toContent(await find[lookup](known, false), pack) };
  });
}

/** What people and other sites see of a user. */
function shownFiles(
  options: SourceOptions,
  { variant, base }: Mount,
  { names }: User,
  archives: readonly string[],
): Answered[] {
  const { config, without } = options;
  const add = (
    folder: string,
    file: (name: string) => string,
    address: (name: string) => string,
  ): Answered => {
    const spelled = names.map((name) => spell(name) as string);
    const paths = spelled.map((name) => ({
      path: `${folder}/${variant}/${file(name)}`,
      address: address(name),
    }));
    return answered(options, paths, folder, base.host);
  };
  const files: Answered[] = [];
  if (config.explorer && !without.has('pages'))
    files.push(
      add(
        'pages',
        (name) => `${name}.html`,
        (name) => `/people/${variant}/${name}`,
      ),
    );
  for (const [folder, extension] of [
    ['cards', 'svg'],
    ['previews', 'png'],
  ] as const)
    if (!without.has(folder))
      files.push(
        add(
          folder,
          (name) => `${name}.${extension}`,
          (name) => `/card/${variant}/${name}.${extension}`,
        ),
      );
  for (const [written, extension] of without.has('feeds') ? [] : Object.entries(FEEDS))
    files.push(
      add(
        'feeds',
        (name) => `${name}.${extension}`,
        (name) => `/feeds/${variant}/${name}.${written}`,
      ),
      ...archives.map((id) =>
        add(
          'archives',
          (name) => `${name}_${id}.${extension}`,
          (name) => `/feeds/${variant}/${name}/${id}.${written}`,
        ),
      ),
    );
  return files;
}

/** The first items of a feed's archives. */
async function findArchives({ store }: SourceOptions, { family, key }: User): Promise<string[]> {
  const found: string[] = [];
  let feed = await readFeed(store, family, key);
  while (feed?.older !== undefined) {
    found.push(feed.older);
    feed = await readFeed(store, family, key, feed.older);
  }
  return found;
}

function answered(
  { asker }: SourceOptions,
  paths: Answered['paths'],
  folder: string,
  host: string | undefined,
): Answered {
  const [{ path = '', address = '' } = {}] = paths;
  asker.note(folder, path, address, host);
  return { paths, ask: (known) => asker.ask(address, host, known) };
}

/** Copies of pictures, in the order of their names. */
async function* listCopies({ asker, config, without }: SourceOptions): AsyncGenerator<Unit> {
  const folder = findMediaFolder(config);
  if (folder === undefined || without.has('media') || !existsSync(folder)) return;
  const isCopy = new RegExp(MEDIA_NAME);
  const shards = readdirSync(folder).filter((name) => /^[0-9a-f]{2}$/.test(name));
  for (const shard of shards.sort())
    for (const name of readdirSync(join(folder, shard)).sort()) {
      if (!isCopy.test(name)) continue;
      const [sha256, path, address] = [name.slice(0, 64), `media/${mediaPath(name)}`, `/media/${name}`];
      const [etag, file] = [`"${sha256}"`, join(folder, mediaPath(name))];
      asker.note('media', name, address, undefined);
      const ask = (known?: string) =>
        known === etag ? ('same' as const) : { etag, type: mediaType(name), body: { file, sha256 } };
      yield { group: COPIES, user: name, files: [{ paths: [{ path, address }], ask }] };
    }
}
