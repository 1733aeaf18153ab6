// The folder of copies. A file is named for its SHA-256, written beside its place, and renamed when it is whole, so
// several fetches may work on one folder.
import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { outputError } from '../files/output.ts';
import { MEDIA_NAME, mediaPath } from '../records/media-types.ts';

export interface StoredFile {
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly changed: number;
}

const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;
/** No fetch of a file takes as long as this. */
const LEFTOVER_MS = 60 * 60 * 1000;
const NAME = new RegExp(MEDIA_NAME);

export type MediaFolder = ReturnType<typeof createMediaFolder>;
export type IncomingFile = Awaited<ReturnType<MediaFolder['receive']>>;

export function createMediaFolder(path: string) {
  const incoming = join(path, 'incoming');
  const findPlace = (name: string) => join(path, mediaPath(name));
  const writing = <T>(action: () => Promise<T>) =>
    action().catch((error) => Promise.reject(outputError(path, error)));

  /** A file that is being received. */
  async function receive() {
    const file = join(incoming, randomUUID());
    const handle = await writing(() => open(file, 'wx', FILE_MODE));
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

  return {
    path,
    /** Creates the folder, and removes what fetches that were killed have left in it. */
    prepare: () => writing(() => prepareIncoming(incoming)),
    receive,
    files: () => filesIn(path),
    findPlace,
    /** The size of a file; undefined without one. */
    async readSize(name: string): Promise<number | undefined> {
      return NAME.test(name) ? (await statIfAny(findPlace(name)))?.size : undefined;
    },
    /** Removes a file, unless it has changed after `before`; whether it did. */
    remove: (name: string, before = Number.POSITIVE_INFINITY) =>
      writing(() => removeFile(findPlace(name), before)),
  };
}

async function keepFile(handle: FileHandle, file: string, place: string): Promise<boolean> {
  const { size } = await handle.stat();
  // One of another size is damaged.
  if ((await statIfAny(place))?.size === size) {
    // `prune` spares young files. Setting the time fails if another user owns the file.
    await utimes(place, new Date(), new Date()).catch(() => {});
    return false;
  }
  await handle.sync();
  const folder = dirname(place);
  const created = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  if (created !== undefined) await syncFolder(dirname(folder));
  await rename(file, place);
  await syncFolder(folder);
  return true;
}

/** Without this a power cut may undo a rename. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function prepareIncoming(incoming: string): Promise<void> {
  await mkdir(incoming, { recursive: true, mode: FOLDER_MODE });
  for (const name of await readdir(incoming)) {
    const file = join(incoming, name);
    const stats = await statIfAny(file);
    if (stats !== undefined && Date.now() - stats.mtimeMs > LEFTOVER_MS) await rm(file, { force: true });
  }
}

async function removeFile(place: string, before: number): Promise<boolean> {
  const stats = await statIfAny(place);
  if (stats === undefined || stats.mtimeMs > before) return false;
  await rm(place, { force: true });
  return true;
}

/** Every whole file, in the order of the names. */
async function* filesIn(path: string): AsyncGenerator<StoredFile> {
  const folders = await readdirIfAny(path);
  for (const folder of folders.filter((name) => /^[0-9a-f]{2}$/.test(name)).sort())
    for (const name of (await readdirIfAny(join(path, folder))).sort()) {
      const stats = NAME.test(name) ? await statIfAny(join(path, folder, name)) : undefined;
      if (stats?.isFile()) yield { name, bytes: stats.size, changed: stats.mtimeMs };
    }
}

async function readdirIfAny(path: string): Promise<string[]> {
  return await unlessMissing(readdir(path), []);
}

const statIfAny = (path: string) => unlessMissing(stat(path), undefined);

async function unlessMissing<T, U>(found: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await found;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return otherwise;
    throw error;
  }
}
