// The folder of a published site: two trees, and a link `current` to the one that is served. A run changes the other tree,
// turns the link with one rename, and then makes the same changes to the first. Unchanged files are one file in both, by
// hard links, and keep their time.
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  opendirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { OutputError } from '../files/output.ts';
import type { HostName } from './hosts.ts';
import { type Entry, type Manifest, openManifest, type Source, type TreeName } from './manifest.ts';

export interface Tree {
  readonly manifest: Manifest;
  /** Whether the file is there, in its size. */
  has(file: Pick<Entry, 'path' | 'bytes'>): boolean;
  write(path: string, body: Buffer | { readonly file: string }): void;
  /** Another path of the same file. */
  link(existing: string, path: string): void;
  remove(path: string): void;
  /** Serves this tree, with the host's own files beside those of the site. */
  serve(source: Source, configuration: Readonly<Record<string, string>>): void;
}

/** Each host has a folder of its own: its manifest says that the trees were made for it, by this command. */
function findManifest(folder: string, host: HostName): string {
  const file = join(folder, 'trees', `${host}.db`);
  if (!existsSync(file) && existsSync(folder) && readdirSync(folder).length > 0)
    throw new OutputError(
      `${folder} has files that \`vitrine publish --for ${host}\` did not make: specify another folder`,
    );
  return file;
}

export function openTree(folder: string, host: HostName): Tree {
  const file = findManifest(folder, host);
  makeFolder(dirname(file));
  const manifest = openManifest(file);
  const { lastRun } = manifest;
  const [served, name]: [TreeName, TreeName] = lastRun?.tree === '0' ? ['0', '1'] : ['1', '0'];
  const [live, tree] = [served, name].map((each) => join(folder, 'trees', each)) as [string, string];
  // A run that was killed may have committed, and not turned.
  if (lastRun !== undefined) turn(folder, served);
  if (!lastRun?.inStep || !existsSync(tree)) {
    rmSync(tree, { recursive: true, force: true });
    if (lastRun !== undefined) linkAll(live, tree);
  }
  manifest.setInStep(false);
  const { create, remove } = createFiles(tree, manifest.noteChange);

  return {
    manifest,
    has: (entry) => hasFile(tree, entry),
    write: (path, body) =>
      create(join('files', path), (file) =>
        Buffer.isBuffer(body) ? writeFileSync(file, body, { flag: 'wx' }) : linkOrCopy(body.file, file),
      ),
    link: (existing, path) =>
      create(join('files', path), (file) => linkSync(join(tree, 'files', existing), file)),
    remove: (path) => remove(join('files', path)),
    serve(source, configuration) {
      for (const [path, text] of Object.entries(configuration))
        create(path, (file) => writeFileSync(file, text, { flag: 'wx' }));
      create('manifest.ndjson', manifest.writeLines);
      manifest.commit(name, source);
      turn(folder, name);
      if (lastRun !== undefined) followChanges(tree, live, manifest);
      else {
        rmSync(live, { recursive: true, force: true });
        linkAll(tree, live);
      }
      manifest.setInStep(true);
    },
  };
}

/** A run that changes nothing. */
export function openTrial(folder: string, host: HostName): Tree {
  const file = findManifest(folder, host);
  const manifest = openManifest(existsSync(file) ? file : ':memory:');
  const has: Tree['has'] = (entry) => hasFile(join(folder, 'current'), entry);
  return { manifest, has, write() {}, link() {}, remove() {}, serve() {} };
}

/** Changes files of a tree; `onChange` gets their paths. */
function createFiles(tree: string, onChange: (path: string) => void) {
  const made = new Set<string>();
  return {
    /** A file that is there may be one with the served one: it is replaced, never written to. */
    create(path: string, make: (file: string) => void): void {
      const file = join(tree, path);
      const folder = dirname(file);
      if (!made.has(folder)) mkdirSync(folder, { recursive: true });
      made.add(folder);
      onChange(path);
      try {
        make(file);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        unlinkSync(file);
        make(file);
      }
    },
    remove(path: string): void {
      onChange(path);
      rmSync(join(tree, path), { force: true });
    },
  };
}

function hasFile(tree: string, { path, bytes }: Pick<Entry, 'path' | 'bytes'>): boolean {
  const found = statSync(join(tree, 'files', path), { throwIfNoEntry: false });
  return found?.isFile() === true && found.size === bytes;
}

/** Not with `recursive`: in folders where none can be made, such as /proc, Node would try for ever. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
}

function turn(folder: string, tree: TreeName): void {
  const next = join(folder, 'current.next');
  rmSync(next, { force: true });
  symlinkSync(join('trees', tree), next);
  renameSync(next, join(folder, 'current'));
}

/** A copy of a picture never changes, so a link to it is as good. */
function linkOrCopy(file: string, path: string): void {
  try {
    linkSync(realpathSync(file), path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    copyFileSync(file, path, constants.COPYFILE_EXCL);
  }
}

/** Makes the changes of one tree in the other. */
function followChanges(from: string, to: string, { changes }: Manifest): void {
  for (const { path } of changes()) {
    const [source, target] = [join(from, path), join(to, path)];
    rmSync(target, { force: true });
    if (!existsSync(source)) continue;
    mkdirSync(dirname(target), { recursive: true });
    linkSync(source, target);
  }
}

/** Makes a tree of the same files. */
function linkAll(from: string, to: string): void {
  mkdirSync(to);
  using folder = opendirSync(from);
  for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkAll(source, target);
    else linkSync(source, target);
  }
}
