// The folder of a published site: two trees, and a link `current` to the one that is served. A run changes the other tree,
// switches the link with one rename, and then makes the same changes in the first. Unchanged files are one file in both, by
// hard links, and keep their time.

import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { opendir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode, errorMessage } from '../../records/thrown.ts';
import { makeFolder, OutputError } from '../../stores/output.ts';
import { hashFile } from '../media/folder.ts';
import {
  type LastInput,
  type Listed,
  type Manifest,
  type ManifestEntry,
  openManifest,
  type TreeName,
} from './manifest.ts';
import { nextTurn } from './run.ts';
import type { PlatformName } from './targets.ts';

export type Tree = ReturnType<typeof createTree>;

/**
 * Each platform has a folder of its own: its manifest says that the trees were made for it, by this command. A run that ended
 * before it could open that leaves a folder for trees.
 */
function findManifest(folder: string, platform: PlatformName): string {
  const file = join(folder, 'trees', `${platform}.db`);
  if (
    !existsSync(file) &&
    listFolder(folder).some((name) => name !== 'trees' || listFolder(dirname(file)).length > 0)
  )
    throw new OutputError(
      `${folder} has files that \`vitrine publish --for ${platform}\` did not make: specify another folder`,
    );
  return file;
}

const listFolder = (path: string) => (existsSync(path) ? readdirSync(path) : []);

export async function openTree(
  folder: string,
  platform: PlatformName,
  signal: AbortSignal,
  checks = false,
): Promise<Tree> {
  const file = findManifest(folder, platform);
  makeFolder(dirname(file));
  const manifest = openManifest(file);
  try {
    const { lastRun } = manifest;
    const [served, name]: [TreeName, TreeName] = lastRun?.tree === '0' ? ['0', '1'] : ['1', '0'];
    const live = join(folder, 'trees', served);
    const tree = join(folder, 'trees', name);
    // A run that was killed may have committed, and not switched.
    if (lastRun !== undefined) switchCurrent(folder, served);
    if (!lastRun?.inStep || !existsSync(tree)) {
      const pause = () => nextTurn(signal);
      await removeAll(tree, pause);
      if (lastRun !== undefined) await linkAll(live, tree, pause);
    }
    manifest.setInStep(false);
    return createTree({ folder, manifest, live, tree, name, isFirst: lastRun === undefined, checks, signal });
  } catch (error) {
    manifest.close();
    throw error;
  }
}

interface TreeParts {
  readonly folder: string;
  readonly manifest: Manifest;
  /** The tree that is served, and the one that is changed. */
  readonly live: string;
  readonly tree: string;
  readonly name: TreeName;
  readonly isFirst: boolean;
  /** Whether files are read, and not only looked at. */
  readonly checks: boolean;
  readonly signal: AbortSignal;
}

const HALF_DONE = 'the new files are served, and the next run completes the second tree';
/** The file with a line for each file of the site. */
const LIST = 'manifest.ndjson';

function createTree(parts: TreeParts) {
  const { manifest, tree } = parts;
  const made = new Set<string>();
  /** A file that is there may be one with the served one: it is replaced, never written to. */
  function create(path: string, make: (file: string) => void): void {
    const file = join(tree, path);
    if (!made.has(dirname(file))) mkdirSync(dirname(file), { recursive: true });
    made.add(dirname(file));
    manifest.noteChange(path);
    try {
      make(file);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
      unlinkSync(file);
      make(file);
    }
  }

  const fileOf = (path: string) => join('files', path);
  return {
    manifest,
    /** Whether the file is there, in its size; with a check, in its bytes. */
    async has(entry: ManifestEntry): Promise<boolean> {
      if (!hasFile(tree, entry)) return false;
      return !parts.checks || (await hashFile(join(tree, fileOf(entry.path)))) === entry.sha256;
    },
    write: (path: string, body: Buffer | { readonly file: string }) =>
      create(fileOf(path), (file) =>
        Buffer.isBuffer(body) ? writeFileSync(file, body, { flag: 'wx' }) : linkOrCopy(body.file, file),
      ),
    /** Another path of the same file. */
    link: (existing: string, path: string) =>
      create(fileOf(path), (file) => linkUnlessSame(join(tree, fileOf(existing)), file)),
    remove(path: string): void {
      manifest.noteChange(fileOf(path));
      rmSync(join(tree, fileOf(path)), { force: true });
    },
    /** Writes the list of all files, and says what is in it. */
    async list(): Promise<Listed> {
      create(LIST, (file) => writeFileSync(file, '', { flag: 'wx' }));
      return await manifest.list(join(tree, LIST), () => nextTurn(parts.signal));
    },
    /** Serves this tree, with the platform's own files beside those of the site. What fails after that is a warning. */
    async serve(
      input: LastInput,
      configuration: Readonly<Record<string, string>>,
    ): Promise<string | undefined> {
      for (const [path, text] of Object.entries(configuration))
        create(path, (file) => writeFileSync(file, text, { flag: 'wx' }));
      manifest.commit(parts.name, input);
      switchCurrent(parts.folder, parts.name);
      return await completeOther(parts);
    },
    [Symbol.dispose]: manifest.close,
  };
}

/** Makes the tree that was served until now the same as the one that is served. */
async function completeOther({
  manifest,
  live,
  tree,
  isFirst,
  signal,
}: TreeParts): Promise<string | undefined> {
  const pause = () => nextTurn(signal, `stopped: ${HALF_DONE}`);
  try {
    if (isFirst) {
      await removeAll(live, pause);
      await linkAll(tree, live, pause);
    } else await copyChanges(tree, live, manifest, pause);
    manifest.setInStep(true);
    await manifest.eraseTraces(pause);
    return undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return `${HALF_DONE}: ${errorMessage(error)}`;
  }
}

function hasFile(tree: string, { path, bytes }: Pick<ManifestEntry, 'path' | 'bytes'>): boolean {
  const found = statSync(join(tree, 'files', path), { throwIfNoEntry: false });
  return found?.isFile() === true && found.size === bytes;
}

function switchCurrent(folder: string, tree: TreeName): void {
  const next = join(folder, 'current.next');
  rmSync(next, { force: true });
  symlinkSync(join('trees', tree), next);
  renameSync(next, join(folder, 'current'));
}

/** On a file system that ignores letter case, both names are one file already. */
function linkUnlessSame(existing: string, path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.ino !== statSync(existing).ino) linkSync(existing, path);
}

/** A copy of a picture never changes, so a link to it is as good. */
function linkOrCopy(file: string, path: string): void {
  try {
    linkSync(realpathSync(file), path);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') throw error;
    copyFileSync(file, path, constants.COPYFILE_EXCL);
  }
}

type Pause = () => Promise<void>;

/** Makes the changes of one tree in the other. */
async function copyChanges(from: string, to: string, manifest: Manifest, pause: Pause): Promise<void> {
  for (let last: string | undefined = ''; last !== undefined; ) {
    const paths = manifest.changesAfter(last);
    last = paths.at(-1);
    await pause();
    for (const path of paths) {
      const [source, target] = [join(from, path), join(to, path)];
      rmSync(target, { force: true });
      if (!existsSync(source)) continue;
      mkdirSync(dirname(target), { recursive: true });
      linkSync(source, target);
    }
  }
}

/** Removes a tree if it is there: file by file, since a signal does not end the one call that would do it. */
async function removeAll(tree: string, pause: Pause): Promise<void> {
  if (!existsSync(tree)) return;
  for await (const entry of await opendir(tree)) {
    await pause();
    const path = join(tree, entry.name);
    if (entry.isDirectory()) await removeAll(path, pause);
    else unlinkSync(path);
  }
  // Some file systems leave out entries of a folder from which others are removed meanwhile.
  rmSync(tree, { recursive: true });
}

/** Makes a tree of the same files. */
async function linkAll(from: string, to: string, pause: Pause): Promise<void> {
  mkdirSync(to);
  for await (const entry of await opendir(from)) {
    await pause();
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await linkAll(source, target, pause);
    else linkSync(source, target);
  }
}
