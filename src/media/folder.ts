// The folder of copies. A file is named for its SHA-256, written beside its place, and renamed when it is whole, so
// several fetches may work on one folder.
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { outputError } from '../files/output.ts';
import { MEDIA_NAME, mediaPath } from '../records/media-types.ts';

export interface StoredFile {
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly changed: number;
}

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

  return {
    path,
    /** Creates the folder, and removes what fetches that were killed have left in it. */
    prepare: () => writing(() => prepareIncoming(incoming)),
    receive,
    pages: () => listFiles(path),
    findPlace,
    /** The size of a file; undefined without one. */
    readSize: (name: string) => (NAME.test(name) ? statIfAny(findPlace(name))?.size : undefined),
    /** Removes a file, unless it has changed after `before`; whether it did. */
    remove: (name: string, before = Number.POSITIVE_INFINITY) =>
      writing(() => removeFile(findPlace(name), before)),
  };
}

async function keepFile(handle: FileHandle, file: string, place: string): Promise<boolean> {
  const { size } = await handle.stat();
  // One of another size is damaged.
  if (statIfAny(place)?.size === size) {
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

async function prepareIncoming(incoming: string): Promise<void> {
  await mkdir(incoming, { recursive: true });
  for (const name of readdirSync(incoming)) await removeFile(join(incoming, name), Date.now() - LEFTOVER_MS);
}

async function removeFile(place: string, before: number): Promise<boolean> {
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
