// The files of one user: lookups, which are most of the files of a site, and what people and other sites see.
import type { Mount } from '../config/clashes.ts';
import { type Config, listMounts } from '../config/config.ts';
import type { Family } from '../records/kinds.ts';
import { readFeed } from '../routes/feeds.ts';
import type { Awaitable, Reader } from '../stores/reader.ts';
import { fillAddress, lookupAddresses, VARIANTS } from '../variants.ts';
import { type Ask, type Content, toContent } from './ask.ts';
import type { Entry } from './manifest.ts';
import { dataFile, findPart, listShown, spell } from './targets.ts';

/** A file that is published, at one or several paths. */
export interface PublishedFile extends Pick<Entry, 'kind' | 'host'> {
  readonly paths: readonly Pick<Entry, 'path' | 'address'>[];
  /** What the server answers to a client that has this ETag; undefined where there is nothing. */
  ask(known: string | undefined): Awaitable<Content | 'same' | undefined>;
}

/** What files are made from. */
export interface FileSource {
  readonly ask: Ask;
  readonly config: Config;
  readonly store: Reader;
  /** Parts that are left out. */
  readonly without: ReadonlySet<string>;
}

/** Whose files are made: the key, and all spellings that have a file. */
export interface User {
  readonly family: Family;
  readonly key: string;
  readonly names: readonly string[];
}

export const listFamilyMounts = ({ config }: Pick<FileSource, 'config'>, family: Family): Mount[] =>
  listMounts(config).filter(({ variant }) => VARIANTS[variant].family === family);

export async function listUserFiles(source: FileSource, user: User): Promise<PublishedFile[]> {
  if (user.names.length === 0) return [];
  const archives = source.without.has('feeds') ? [] : await findArchives(source, user);
  return listFamilyMounts(source, user.family).flatMap((mount) => [
    ...lookupFiles(source, mount, user),
    ...shownFiles(source, mount, user, archives),
  ]);
}

/** Read from the store as the routes do, with the headers of one answer of the route. */
function lookupFiles({ store }: FileSource, { variant, base }: Mount, user: User): PublishedFile[] {
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
    const ask = async (known = '') => toContent(await find[lookup](known, false), pack);
    return { kind: 'data', host: base.host ?? null, paths, ask };
  });
}

function shownFiles(
  { ask, config, without }: FileSource,
  { variant, base }: Mount,
  { names }: User,
  archives: readonly string[],
): PublishedFile[] {
  const shown = listShown(config).filter(({ kind }) => !without.has(findPart(kind)));
  return shown.flatMap(({ kind, address, file }) =>
    (kind === 'archives' ? archives : ['']).map((item) => {
      const paths = names.map((name) => {
        const own = file.replace(':username', () => spell(name) as string).replace(':item', item);
        return {
          path: `${kind}/${variant}/${own}`,
          address: fillAddress(address, variant, name).replace(':item', item),
        };
      });
      return answerFile(ask, paths, kind, base.host);
    }),
  );
}

/** The first items of a feed's archives. */
async function findArchives({ store }: FileSource, { family, key }: User): Promise<string[]> {
  const found: string[] = [];
  let feed = await readFeed(store, family, key);
  while (feed?.older !== undefined) {
    found.push(feed.older);
    feed = await readFeed(store, family, key, feed.older);
  }
  return found;
}

/** A file of what the app answers at the address of the first path. */
export const answerFile = (
  ask: Ask,
  paths: PublishedFile['paths'],
  kind: string,
  host: string | undefined,
): PublishedFile => ({
  kind,
  host: host ?? null,
  paths,
  ask: (known) => ask(paths[0]?.address as string, host, known),
});
