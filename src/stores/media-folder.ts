// The folder of copies of pictures, and the only way to one of them. A file is named for its SHA-256, written beside its
// place, and renamed when it is whole, so several fetches may work on one folder. Small pictures that are made of a copy lie
// beside it.
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { COPY_FILE_NAME, COPY_NAME, copyPath, SMALL_WIDTHS, smallName } from '../records/copy-files.ts';
import { makeFolder, nameUnfinished, outputError, removeLeftovers } from './output.ts';
import type { SmallPicture } from './sql/media-statements.ts';

export interface StoredFile {
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly changed: number;
}

const NAME = new RegExp(COPY_FILE_NAME);
const COPY = new RegExp(COPY_NAME);

/** Rather than the name of a small picture. */
export const isCopy = (name: string) => COPY.test(name);

export type MediaFolder = ReturnType<typeof createMediaFolder>;
export type IncomingFile = Awaited<ReturnType<MediaFolder['receive']>>;

export function createMediaFolder(path: string) {
  const incoming = join(path, 'incoming');
  const findPlace = (name: string) => join(path, copyPath(name));
  const writing = <T>(action: () => Promise<T>) =>
    action().catch((error) => Promise.reject(outputError(path, error)));

  /** A file that is being received. */
  async function receive() {
    const file = nameUnfinished(join(incoming, 'copy'));
    const handle = await writing(() => open(file, 'wx'));
    return {
      write: (chunk: Buffer) => writing(() => handle.writeFile(chunk)),
      /** Puts the whole file in its place, unless it is there already; whether it was not. */
      keep: (name: string) => writing(() => keepFile(handle, file, findPlace(name))),
      /** Removes what was written, unless it was kept. */
      async discard(): Promise<void> {
        await handle.close();
        await rm(file, { force: true });
      },
    };
  }

  async function remove(name: string): Promise<boolean> {
    if (isCopy(name)) for (const width of SMALL_WIDTHS) await removeFile(findPlace(smallName(name, width)));
    return removeFile(findPlace(name));
  }

  return {
    path,
    /** Creates the folder, and removes what fetches that were killed have left in it. */
    prepare: () =>
      writing(async () => {
        makeFolder(incoming);
        removeLeftovers(incoming);
      }),
    receive,
    pages: () => listFiles(path),
    findPlace,
    /** The size of a copy; undefined without one. */
    readSize: (name: string) => (isCopy(name) ? statIfAny(findPlace(name))?.size : undefined),
    /** Whether all small pictures of a copy are here. */
    hasSmall: (name: string, small: readonly SmallPicture[]) =>
      small.every(({ width }) => existsSync(findPlace(smallName(name, width)))),
    /** The SHA-256 of a file; undefined without one. */
    hash: (name: string) => (existsSync(findPlace(name)) ? hashFile(findPlace(name)) : undefined),
    /** Removes a copy and its small pictures, or one small picture; whether it was there. */
    remove: (name: string) => writing(() => remove(name)),
    /** Removes one file, unless it has changed after `before`; whether it did. */
    removeOld: (name: string, before: number) => writing(() => removeFile(findPlace(name), before)),
  };
}

async function keepFile(handle: FileHandle, file: string, place: string): Promise<boolean> {
  const { size } = await handle.stat();
  // Another one is damaged.
  if (statIfAny(place)?.size === size && (await hashFile(place)) === (await hashFile(file))) {
    // `prune` spares young files. Setting the time fails if another user owns the file.
    await utimes(place, new Date(), new Date()).catch(() => {});
    return false;
  }
  await handle.sync();
  const folder = dirname(place);
  const created = await mkdir(folder, { recursive: true });
  if (created !== undefined) await syncFolder(dirname(folder));
  await rename(file, place);
  await syncFolder(folder);
  return true;
}

/** Without this a power cut may undo a rename. */
async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path);
  await handle.sync();
}

/** The SHA-256 of the bytes of a file. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}

async function removeFile(place: string, before = Number.POSITIVE_INFINITY): Promise<boolean> {
  const stats = statIfAny(place);
  if (stats === undefined || stats.mtimeMs > before) return false;
  await rm(place, { force: true });
  return true;
}

/** Every whole file, folder by folder, in the order of the names. */
function* listFiles(path: string): Generator<StoredFile[]> {
  const folders = existsSync(path) ? readdirSync(path).filter((name) => /^[0-9a-f]{2}$/.test(name)) : [];
  for (const folder of folders.sort()) {
    const names = readdirSync(join(path, folder)).filter((name) => NAME.test(name));
    yield names.sort().flatMap((name) => {
      const stats = statIfAny(join(path, folder, name));
      return stats?.isFile() ? [{ name, bytes: stats.size, changed: stats.mtimeMs }] : [];
    });
  }
}

const statIfAny = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });
