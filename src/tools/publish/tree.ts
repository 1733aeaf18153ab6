// The folder of a published site: a tree of files, and a link `current` to it. A run makes a new tree beside the one that is
// served, turns the link with one rename, and then removes the old tree. Files that did not change are in both trees by hard
// links, so they keep their times.

import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { opendir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errorCode, errorMessage } from '../../records/thrown.ts';
import { hashFile } from '../../stores/media-folder.ts';
import { makeFolder, OutputError } from '../../stores/output.ts';
import { openExclusive } from '../../stores/sqlite/connect.ts';
import { type ManifestEntry, openManifest, readManifest } from './manifest.ts';
import { nextTurn } from './run.ts';
import type { PlatformName } from './targets.ts';

/** The file with a line for each file of the site. */
const LIST = 'manifest.ndjson';

export type Site = Awaited<ReturnType<typeof openSite>>;
export type Tree = ReturnType<typeof findTree>;
export type NewTree = ReturnType<typeof createTree>;

/** Opens the folder for one run. */
export async function openSite(folder: string, platform: PlatformName, signal: AbortSignal) {
  const lock = openLock(folder, platform);
  const trees = join(folder, 'trees');
  const link = join(folder, 'current');
  const removeOthers = async (kept: string | undefined, pause: Pause) => {
    for (const name of listFolder(trees))
      if (TREE_NAMES.includes(name) && name !== kept) await removeTree(join(trees, name), pause);
  };
  try {
    const live = existsSync(link) ? basename(readlinkSync(link)) : undefined;
    // A run that was ended has left its new tree, or the old one.
    await removeOthers(live, () => nextTurn(signal));
    return {
      /** The tree that is served. */
      live: live === undefined ? undefined : findTree(join(trees, live)),
      /** A new tree beside those that are there. */
      createTree(): NewTree {
        const name = TREE_NAMES.find((each) => !existsSync(join(trees, each)));
        if (name === undefined) throw new Error('each pass removes the tree of the one before the last');
        return createTree(join(trees, name));
      },
      /** Serves a tree, and removes the others. What fails after the switch is a warning. */
      async serve(tree: Tree): Promise<string | undefined> {
        const name = basename(tree.path);
        switchLink(folder, name);
        try {
          await removeOthers(name, () => nextTurn(signal, `stopped: ${HALF_DONE}`));
          return undefined;
        } catch (error) {
          if (signal.aborted) throw error;
          return `${HALF_DONE}: ${errorMessage(error)}`;
        }
      },
      removeTree: (tree: Tree) => removeTree(tree.path, () => nextTurn(signal)),
      [Symbol.dispose]: lock.close,
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** One that is served, the one before the last pass, and the one of the last pass. */
const TREE_NAMES: readonly string[] = ['0', '1', '2'];
const HALF_DONE = 'the new files are served, and the next run removes the old ones';

/**
 * Each platform has a folder of its own: the file that a run locks says that the trees were made for it, by this command. A run
 * that ended before it could lock it leaves a folder for trees.
 */
function openLock(folder: string, platform: PlatformName) {
  const trees = join(folder, 'trees');
  const file = join(trees, `${platform}.lock`);
  // Earlier versions kept a database of all files.
  const earlier = join(trees, `${platform}.db`);
  if (
    !existsSync(file) &&
    !existsSync(earlier) &&
    listFolder(folder).some((name) => name !== 'trees' || listFolder(trees).length > 0)
  )
    throw new OutputError(
      `${folder} has files that \`vitrine publish --for ${platform}\` did not make: specify another folder`,
    );
  makeFolder(trees);
  const db = openExclusive(file, 0);
  if (db === undefined) throw new OutputError(`another run publishes there: wait for its end (${file})`);
  rmSync(earlier, { force: true });
  // The locked file is empty, and so is the journal that SQLite keeps beside it. A run that was killed would leave it.
  rmSync(`${file}-journal`, { force: true });
  return { close: () => void db.close() };
}

const listFolder = (path: string) => (existsSync(path) ? readdirSync(path) : []);

function switchLink(folder: string, tree: string): void {
  const next = join(folder, 'current.next');
  rmSync(next, { force: true });
  symlinkSync(join('trees', tree), next);
  renameSync(next, join(folder, 'current'));
}

/** A tree that is complete. */
function findTree(path: string) {
  const fileOf = (entry: Pick<ManifestEntry, 'path'>) => join(path, 'files', entry.path);
  return {
    path,
    fileOf,
    owners: () => readManifest(join(path, LIST)),
    /** Whether the file is there, in its size; with `checks`, in its bytes. */
    async has(entry: ManifestEntry, checks: boolean): Promise<boolean> {
      const found = statSync(fileOf(entry), { throwIfNoEntry: false });
      if (found?.isFile() !== true || found.size !== entry.bytes) return false;
      return !checks || (await hashFile(fileOf(entry))) === entry.sha256;
    },
    /** Says by the date of the list that a run found nothing to change. */
    touch: () => utimesSync(join(path, LIST), new Date(), new Date()),
    /** Whether the platform's own files are these. */
    isFor: (configuration: Configuration) =>
      Object.entries(configuration).every(
        ([name, text]) => existsSync(join(path, name)) && readFileSync(join(path, name), 'utf8') === text,
      ),
  };
}

/** The platform's own files, which lie beside those of the site: texts by their names. */
export type Configuration = Readonly<Record<string, string>>;

/** A new tree. Only this run writes there, so a file is there already only if its name differs from another's in letter case. */
function createTree(path: string) {
  mkdirSync(path);
  const tree = findTree(path);
  const manifest = openManifest(join(path, LIST));
  const made = new Set<string>();

  function create(file: string, make: (file: string) => void): void {
    const folder = dirname(file);
    if (!made.has(folder)) mkdirSync(folder, { recursive: true });
    made.add(folder);
    try {
      make(file);
    } catch (error) {
      // On a file system that ignores letter case, two spellings of a name are one file.
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }

  return {
    ...tree,
    write: (entryPath: string, body: Buffer | { readonly file: string }) =>
      create(tree.fileOf({ path: entryPath }), (file) =>
        Buffer.isBuffer(body)
          ? writeFileSync(file, body, { flag: 'wx' })
          : // A copy of a picture never changes, so a link to it is as good.
            linkOrCopy(realpathSync(body.file), file),
      ),
    /** Another path of the same file. */
    link: (existing: string, entryPath: string) =>
      create(tree.fileOf({ path: entryPath }), (file) => linkOrCopy(tree.fileOf({ path: existing }), file)),
    /** The same file as in another tree. */
    take: (from: Tree, entry: ManifestEntry) =>
      create(tree.fileOf(entry), (file) => linkOrCopy(from.fileOf(entry), file)),
    add: manifest.add,
    configure(configuration: Configuration): void {
      for (const [name, text] of Object.entries(configuration))
        create(join(path, name), (file) => writeFileSync(file, text, { flag: 'wx' }));
    },
    close: manifest.close,
  };
}

/**
 * Makes a hard link. Where there can be none, it copies the file with its times: between file systems, on some of them, and
 * of files of another user, which Linux refuses to link (fs.protected_hardlinks).
 */
export function linkOrCopy(existing: string, path: string): void {
  try {
    linkSync(existing, path);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST' || code === 'ENOENT') throw error;
    copyFileSync(existing, path, constants.COPYFILE_EXCL);
    const { atimeMs, mtimeMs } = statSync(existing);
    utimesSync(path, atimeMs / 1000, mtimeMs / 1000);
  }
}

type Pause = () => Promise<void>;

/** File by file, since a signal does not end the one call that would do it. */
async function removeTree(tree: string, pause: Pause): Promise<void> {
  for await (const entry of await opendir(tree)) {
    await pause();
    const path = join(tree, entry.name);
    if (entry.isDirectory()) await removeTree(path, pause);
    else unlinkSync(path);
  }
  // Some file systems leave out entries of a folder from which others are removed meanwhile.
  rmSync(tree, { recursive: true });
}
