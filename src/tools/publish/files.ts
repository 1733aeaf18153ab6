// Which files are published: those that are there once, those of each user, and copies of pictures.
import { JSON_TYPE } from '../../api/http/headers.ts';
import { findMediaFolder } from '../../config/media.ts';
import type { Mount } from '../../config/mount.ts';
import { listMounts } from '../../config/settings.ts';
import { copyHash, copyPath, copyType } from '../../records/copy-files.ts';
import { computeEtag } from '../../records/etag.ts';
import { FAMILIES, type Family } from '../../records/kinds.ts';
import { createMediaFolder, isCopy, type MediaFolder } from '../../stores/media-folder.ts';
import type { Answer, Awaitable, ItemSize, UserEntry } from '../../stores/reader.ts';
import { fillAddress, lookupAddresses, VARIANTS } from '../../variants.ts';
import type { Ask, Content } from './answers.ts';
import type { ManifestEntry } from './manifest.ts';
import { nextTurn, type PublishRun } from './run.ts';
import { createTagger } from './tags.ts';
import { dataFile, isSpellable, listShown, showsOldItems, spell } from './targets.ts';

/** A file that is published, at one or several paths. */
export interface PublishedFile extends Pick<ManifestEntry, 'host'> {
  /** Files of a kind share headers. */
  readonly kind: string;
  readonly paths: readonly Pick<ManifestEntry, 'path' | 'address'>[];
  /** What the server answers to a client that has this ETag; undefined where there is nothing. */
  ask(known: string | undefined): Awaitable<Content | 'unchanged' | undefined>;
}

/** Files that belong together. */
export interface Unit extends Pick<ManifestEntry, 'owner'> {
  /** The tag of the owner; `known` is that of the last run. */
  readTag(known: string): Awaitable<string>;
  listFiles(): Awaitable<readonly PublishedFile[]>;
  readonly isUser?: boolean;
  /** The user's name is too long for the name of a file. */
  readonly isTooLong?: boolean;
}

/** Everything, in the order of owners. */
export async function* listUnits(run: PublishRun): AsyncGenerator<Unit> {
  const tagUser = createTagger(run);
  yield await createSiteUnit(run);
  for (const { family, mounts } of listFamilies(run)) {
    const collections = [...new Set(mounts.map(({ variant }) => VARIANTS[variant].collection))];
    for await (const user of publishedUsers(run, family)) {
      await nextTurn(run.signal);
      const { key, username } = user;
      const names = [...new Set([key, username])].filter(isSpellable);
      yield {
        owner: `${family} ${key}`,
        readTag: (known) => tagUser(family, collections, user, known),
        listFiles: () => listUserFiles(run, mounts, { key, names }),
        isUser: true,
        isTooLong: names.length === 0,
      };
    }
  }
  for (const unit of listCopyUnits(run)) {
    await nextTurn(run.signal);
    yield unit;
  }
}

/** The files that are there once. They are few, so each run asks for all. */
async function createSiteUnit({ answers }: PublishRun): Promise<Unit> {
  const etags: string[] = [];
  for (const address of answers.siteFiles.values()) {
    const content = await answers.ask(address, undefined);
    etags.push(typeof content === 'object' ? content.etag : '');
  }
  const tag = computeEtag(JSON.stringify([[...answers.siteFiles], etags]));
  const files = [...answers.siteFiles].map(([path, address]) =>
    answerFile(answers.ask, [{ path, address }], path, undefined),
  );
  return { owner: 'site', readTag: () => tag, listFiles: () => files };
}

/** The families that have variants. */
const listFamilies = ({ config }: PublishRun) =>
  FAMILIES.map((family) => ({
    family,
    mounts: listMounts(config).filter(({ variant }) => VARIANTS[variant].family === family),
  })).filter(({ mounts }) => mounts.length > 0);

const USERS_AT_ONCE = 200;

async function* publishedUsers({ store }: PublishRun, family: Family): AsyncGenerator<UserEntry> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page = await store.users(family, { after, limit: USERS_AT_ONCE });
    yield* page;
    after = page.at(-1)?.key;
  }
}

/** The key of a user, and all spellings of the name that have a file. */
interface User {
  readonly key: string;
  readonly names: readonly string[];
}

async function listUserFiles(
  run: PublishRun,
  mounts: readonly Mount[],
  user: User,
): Promise<PublishedFile[]> {
  if (user.names.length === 0) return [];
  const files = mounts.flatMap((mount) => lookupFiles(run, mount, user));
  const items = await readItems(run, mounts, user.key);
  return [...files, ...mounts.flatMap((mount) => shownFiles(run, mount, user, items))];
}

/** Read from the store as the routes do, which is faster; with the headers of one answer of the route. */
function lookupFiles({ store }: PublishRun, { variant, base }: Mount, { key, names }: User): PublishedFile[] {
  const { style, collection, family } = VARIANTS[variant];
  const lookups = {
    profile: (known: string, gzip: boolean) => store.profile(family, key, { known, gzip }),
    items: (known: string, gzip: boolean) => store.items(family, key, collection, { known, gzip }),
  };
  return (['profile', 'items'] as const).map((lookup) => {
    const find = lookups[lookup];
    const paths = names.map((name) => ({
      path: dataFile(variant, lookup, spell(name)),
      address: lookupAddresses(style, base.path, name)[lookup],
    }));
    const pack = async () => {
      const found = await find('', true);
      return found?.isGzip ? found.body : undefined;
    };
    const ask = async (known = '') => toContent(await find(known, false), pack);
    return { kind: 'data', host: base.host ?? null, paths, ask };
  });
}

function toContent(answer: Answer | undefined, pack: Content['pack'] & {}) {
  if (answer === undefined) return undefined;
  const { etag, body } = answer;
  return body === null ? 'unchanged' : { etag, type: JSON_TYPE, body, pack };
}

const SIZES_AT_ONCE = 1000;

/** All items of a user, if there are files that show old ones. */
async function readItems(
  { store, signal, config, without }: PublishRun,
  mounts: readonly Mount[],
  key: string,
): Promise<ItemSize[]> {
  const [mount] = mounts;
  if (mount === undefined || !showsOldItems(config, without)) return [];
  const { family } = VARIANTS[mount.variant];
  const items: ItemSize[] = [];
  for (let expected = 0; items.length === expected; expected += SIZES_AT_ONCE) {
    const from = items.at(-1)?.id;
    const next = { ...(from && { from, skip: 1 }), limit: SIZES_AT_ONCE };
    items.push(...(await store.historySizes(family, key, next)));
    await nextTurn(signal);
  }
  return items;
}

function shownFiles(
  { answers, config, without }: PublishRun,
  { variant, base }: Mount,
  { names }: User,
  items: readonly ItemSize[],
): PublishedFile[] {
  return listShown(config, without).flatMap(({ kind, address, file, chooseItems }) =>
    (chooseItems?.(items) ?? ['']).map((item) => {
      const paths = names.map((name) => {
        const own = file.replace(':username', () => spell(name)).replace(':item', item);
        return {
          path: `${kind}/${variant}/${own}`,
          address: fillAddress(address, variant, name).replace(':item', item),
        };
      });
      return answerFile(answers.ask, paths, kind, base.host);
    }),
  );
}

/** A file of what the app answers at the address of the first path. Its callers give a path or more, each with an address. */
const answerFile = (
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

/** Copies of pictures, and their small pictures. */
function* listCopyUnits({ config, without, counts }: PublishRun): Generator<Unit> {
  const path = findMediaFolder(config);
  if (path === undefined || without.has('media')) return;
  const folder = createMediaFolder(path);
  for (const page of folder.pages())
    for (const { name } of page) {
      const listFiles = () => [copyFile(folder, name, counts)];
      yield { owner: `media ${name}`, readTag: () => name, listFiles };
    }
}

/** A copy that is damaged is left out. */
function copyFile(folder: MediaFolder, name: string, counts: PublishRun['counts']): PublishedFile {
  const etag = `"${name.slice(0, name.indexOf('.'))}"`;
  const ask = async (known?: string) => {
    if (known === etag) return 'unchanged';
    const sha256 = await folder.hash(name);
    if (sha256 === undefined) return undefined;
    if (!isCopy(name) || sha256 === copyHash(name))
      return { etag, type: copyType(name), body: { file: folder.findPlace(name), sha256 } };
    counts.damaged++;
    return undefined;
  };
  const paths = [{ path: `media/${copyPath(name)}`, address: `/media/${name}` }];
  return { kind: 'media', host: null, paths, ask };
}
