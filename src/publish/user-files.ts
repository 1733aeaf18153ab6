// The files of one user: lookups, which are most of the files of a site, and what people and other sites see.
import type { Mount } from '../config/clashes.ts';
import { type Config, listMounts } from '../config/config.ts';
import type { Family } from '../records/kinds.ts';
import { readFeed } from '../routes/feeds.ts';
import type { Awaitable, Reader } from '../stores/reader.ts';
import { lookupAddresses, VARIANTS } from '../variants.ts';
import { type Asker, type Content, toContent } from './ask.ts';
import { dataFile, FEEDS, spell } from './targets.ts';

/** Parts that may be left out. */
export type Part = 'pages' | 'cards' | 'previews' | 'feeds' | 'media';

/** A file that is published, at one or several paths. */
export interface PublishedFile {
  readonly paths: readonly { readonly path: string; readonly address?: string | undefined }[];
  /** What the server answers to a client that has this ETag; undefined where there is nothing. */
  ask(known: string | undefined): Awaitable<Content | 'same' | undefined>;
}

/** What files are made from. */
export interface FileSource {
  readonly asker: Asker;
  readonly config: Config;
  readonly store: Reader;
  readonly without: ReadonlySet<Part>;
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
function lookupFiles({ asker, store }: FileSource, { variant, base }: Mount, user: User): PublishedFile[] {
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

function shownFiles(
  source: FileSource,
  { variant, base }: Mount,
  { names }: User,
  archives: readonly string[],
): PublishedFile[] {
  const { config, without } = source;
  const spelled = names.map((name) => spell(name) as string);
  const shown = [
    ...(config.explorer && !without.has('pages') ? [PAGE] : []),
    ...(without.has('cards') ? [] : [CARD]),
    ...(without.has('previews') ? [] : [PREVIEW]),
    ...(without.has('feeds') ? [] : listFeeds(archives)),
  ];
  return shown.map(({ folder, file, address }) => {
    const paths = spelled.map((name) => ({
      path: `${folder}/${variant}/${file.replace(NAME, name)}`,
      address: address.replace(VARIANT, variant).replace(NAME, name),
    }));
    return answerFile(source, paths, folder, base.host);
  });
}

/** Stand for the variant and the name in what follows. No name has these characters unescaped. */
const [VARIANT, NAME] = ['<variant>', '<name>'];

const PAGE = { folder: 'pages', file: `${NAME}.html`, address: `/people/${VARIANT}/${NAME}` };
const CARD = { folder: 'cards', file: `${NAME}.svg`, address: `/card/${VARIANT}/${NAME}.svg` };
const PREVIEW = { folder: 'previews', file: `${NAME}.png`, address: `/card/${VARIANT}/${NAME}.png` };

const listFeeds = (archives: readonly string[]) =>
  Object.entries(FEEDS).flatMap(([written, extension]) => {
    const address = `/feeds/${VARIANT}/${NAME}`;
    return [
      { folder: 'feeds', file: `${NAME}.${extension}`, address: `${address}.${written}` },
      ...archives.map((id) => ({
        folder: 'archives',
        file: `${NAME}_${id}.${extension}`,
        address: `${address}/${id}.${written}`,
      })),
    ];
  });

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
export function answerFile(
  { asker }: Pick<FileSource, 'asker'>,
  paths: PublishedFile['paths'],
  folder: string,
  host: string | undefined,
): PublishedFile {
  const [{ path = '', address = '' } = {}] = paths;
  asker.note(folder, path, address, host);
  return { paths, ask: (known) => asker.ask(address, host, known) };
}
