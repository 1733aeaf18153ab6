// The folder of a published site: two trees, and a link `current` to the one that is served. A run changes the other tree,
// turns the link with one rename, and then makes the same changes to the first. Unchanged files are one file in both, by
// hard links, and keep their time. A tree is in step with the served one if their manifests are one file; any other tree,
// such as one whose run was killed, is made anew from the served one.
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
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
import { openExclusive } from '../stores/sqlite/exclusive.ts';
import { LOCK, MANIFEST, readServed, refuseOthers } from './folder.ts';
import { createLineWriter, type Entry, type LineWriter } from './manifest.ts';
import { followChanges, linkAll, prepareTrees } from './spare.ts';

export interface Tree {
  /** The manifest of the tree that is served; there may be none. */
  readonly manifest: string;
  /** Whether the file is there, in its size. */
  has(file: Pick<Entry, 'path' | 'bytes'>): boolean;
  write(path: string, body: Buffer | { readonly file: string }): void;
  /** Another path of the same file. */
  link(existing: string, path: string): void;
  remove(path: string): void;
  /** Begins a list of what is in the tree; `finish` says where it is. */
  newManifest(): LineWriter;
  /** Serves this tree, with the texts of the host's files beside its files. */
  serve(texts: readonly string[]): Promise<void>;
  close(): void;
}

/** `configuration` are the names of the host's files: a tree for another host is not continued. */
export async function openTree(folder: string, configuration: readonly string[]): Promise<Tree> {
  refuseOthers(folder);
  const trees = join(folder, 'trees');
  mkdirSync(trees, { recursive: true });
  const unlock = lock(folder);
  const { live, spare, isContinued } = prepareTrees(folder, configuration);
  const changes = createLineWriter(join(trees, 'changes'));
  const lists: string[] = [];

  return {
    ...createFiles(spare, changes.add),
    manifest: isContinued ? join(live, MANIFEST) : join(trees, 'none'),
    newManifest() {
      lists.push(join(trees, `manifest-${lists.length}`));
      return createLineWriter(lists.at(-1) as string);
    },
    async serve(texts) {
      changes.finish();
      for (const [at, name] of configuration.entries()) {
        rmSync(join(spare, name), { force: true });
        mkdirSync(dirname(join(spare, name)), { recursive: true });
        writeFileSync(join(spare, name), texts[at] as string);
      }
      renameSync(lists.at(-1) as string, join(spare, MANIFEST));
      turn(folder, spare);
      if (isContinued) await followChanges(spare, live, { changes: changes.file, configuration });
      else {
        rmSync(live, { recursive: true, force: true });
        linkAll(spare, live);
      }
      for (const file of [changes.file, ...lists]) rmSync(file, { force: true });
    },
    close() {
      changes.finish();
      unlock();
    },
  };
}

/** A run that changes nothing. */
export async function openTrial(folder: string, configuration: readonly string[]): Promise<Tree> {
  refuseOthers(folder);
  const live = join(folder, readServed(folder) ?? 'none');
  const isContinued = configuration.every((name) => existsSync(join(live, name)));
  const manifest = join(live, isContinued ? MANIFEST : 'none');
  return {
    manifest,
    has: (file) => hasFile(live, file),
    write() {},
    link() {},
    remove() {},
    newManifest: () => ({ file: manifest, add() {}, finish() {} }),
    serve: async () => {},
    close() {},
  };
}

/** Changes files of a tree; `onChange` gets their paths. */
function createFiles(tree: string, onChange: (path: string) => void) {
  const made = new Set<string>();

  function place(path: string): string {
    const whole = join(tree, 'files', path);
    const parent = dirname(whole);
    if (!made.has(parent)) mkdirSync(parent, { recursive: true });
    made.add(parent);
    onChange(path);
    return whole;
  }

  /** A file that is there may be one with the served one: it is replaced, never written to. */
  function create(path: string, make: (whole: string) => void): void {
    const whole = place(path);
    try {
      make(whole);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      unlinkSync(whole);
      make(whole);
    }
  }

  return {
    has: (file: Pick<Entry, 'path' | 'bytes'>) => hasFile(tree, file),
    write(path: string, body: Buffer | { readonly file: string }): void {
      create(path, (whole) =>
        Buffer.isBuffer(body) ? writeFileSync(whole, body, { flag: 'wx' }) : linkOrCopy(body.file, whole),
      );
    },
    link: (existing: string, path: string) =>
      create(path, (whole) => linkSync(join(tree, 'files', existing), whole)),
    remove: (path: string) => rmSync(place(path), { force: true }),
  };
}

function hasFile(tree: string, { path, bytes }: Pick<Entry, 'path' | 'bytes'>): boolean {
  const found = statSync(join(tree, 'files', path), { throwIfNoEntry: false });
  return found?.isFile() === true && found.size === bytes;
}

function turn(folder: string, tree: string): void {
  const next = join(folder, 'current.next');
  rmSync(next, { force: true });
  symlinkSync(join('trees', tree.endsWith('0') ? '0' : '1'), next);
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

/** One run at a time. */
function lock(folder: string): () => void {
  const db = openExclusive(join(folder, 'trees', LOCK), 0);
  if (db === undefined) throw new OutputError(`another run publishes to ${folder}: wait for its end`);
  return () => void db.close();
}
