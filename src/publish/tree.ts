// The folder of a published site: two trees, and a link `current` to the one that is served. A run changes the other tree,
// turns the link with one rename, and then makes the same changes to the first. Unchanged files are one file in both, by
// hard links, and keep their time. A tree is in step with the served one if their manifests are one file; any other tree,
// such as one whose run was killed, is made anew from the served one.
import {
  closeSync,
  constants,
  copyFileSync,
  createReadStream,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  opendirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { OutputError } from '../files/output.ts';
import { openExclusive } from '../stores/sqlite/exclusive.ts';
import { LOCK, MANIFEST, readServed, refuseOthers } from './folder.ts';
import type { Entry } from './manifest.ts';

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
  mkdirSync(join(folder, 'trees'), { recursive: true });
  const unlock = lock(folder);
  const served = readServed(folder);
  const [name, other] = served?.endsWith('0') ? ['1', '0'] : ['0', '1'];
  const [spare, live] = [join(folder, 'trees', name as string), join(folder, 'trees', other as string)];
  const isContinued =
    served !== undefined && [...configuration, MANIFEST].every((name) => existsSync(join(live, name)));
  if (!isContinued || !isInStep(live, spare)) {
    rmSync(spare, { recursive: true, force: true });
    if (isContinued) linkAll(live, spare);
  }
  mkdirSync(join(spare, 'files'), { recursive: true });
  rmSync(join(spare, MANIFEST), { force: true });

  for (const found of readdirSync(join(folder, 'trees')))
    if (!['0', '1', LOCK].includes(found)) rmSync(join(folder, 'trees', found));

  const changesFile = join(folder, 'trees', 'changes');
  const changes = createLineWriter(changesFile);
  const made = new Set<string>();
  const place = (path: string): string => {
    const whole = join(spare, 'files', path);
    const parent = dirname(whole);
    if (!made.has(parent)) mkdirSync(parent, { recursive: true });
    made.add(parent);
    changes.add(path);
    return whole;
  };
  /** A file that is there may be one with the served one: it is replaced, never written to. */
  const create = (path: string, make: (whole: string) => void): void => {
    const whole = place(path);
    try {
      make(whole);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      unlinkSync(whole);
      make(whole);
    }
  };
  const lists: string[] = [];

  return {
    manifest: isContinued ? join(live, MANIFEST) : join(folder, 'trees', 'none'),
    has: (file) => hasFile(spare, file),
    write(path, body) {
      create(path, (whole) =>
        Buffer.isBuffer(body) ? writeFileSync(whole, body, { flag: 'wx' }) : linkOrCopy(body.file, whole),
      );
    },
    link: (existing, path) => create(path, (whole) => linkSync(join(spare, 'files', existing), whole)),
    remove: (path) => rmSync(place(path), { force: true }),
    newManifest() {
      lists.push(join(folder, 'trees', `manifest-${lists.length}`));
      return createLineWriter(lists.at(-1) as string);
    },
    async serve(texts) {
      changes.finish();
      for (const [at, name] of configuration.entries()) {
        rmSync(join(spare, name), { force: true });
        writeFileSync(join(spare, name), texts[at] as string);
      }
      renameSync(lists.at(-1) as string, join(spare, MANIFEST));
      turn(folder, spare);
      await follow(spare, live, { changes: isContinued ? changesFile : undefined, configuration });
      for (const file of [changesFile, ...lists]) rmSync(file, { force: true });
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
  const served = readServed(folder);
  const live = join(folder, served ?? 'none');
  const manifest = join(
    live,
    configuration.every((name) => existsSync(join(live, name))) ? MANIFEST : 'none',
  );
  return {
    has: (file) => hasFile(live, file),
    ...{ manifest, write() {}, link() {}, remove() {}, close() {} },
    newManifest: () => ({ file: manifest, add() {}, finish() {} }),
    serve: async () => {},
  };
}

function hasFile(tree: string, { path, bytes }: Pick<Entry, 'path' | 'bytes'>): boolean {
  const found = statSync(join(tree, 'files', path), { throwIfNoEntry: false });
  return found?.isFile() === true && found.size === bytes;
}

function isInStep(live: string, spare: string): boolean {
  const [one, other] = [live, spare].map((tree) => statSync(join(tree, MANIFEST), { throwIfNoEntry: false }));
  return one !== undefined && one.ino === other?.ino;
}

function turn(folder: string, tree: string): void {
  const next = join(folder, 'current.next');
  rmSync(next, { force: true });
  symlinkSync(join('trees', tree.endsWith('0') ? '0' : '1'), next);
  renameSync(next, join(folder, 'current'));
}

/** Makes the changes of one tree in the other, or makes that one anew. */
async function follow(
  from: string,
  to: string,
  {
    changes,
    configuration,
  }: { readonly changes: string | undefined; readonly configuration: readonly string[] },
): Promise<void> {
  if (changes === undefined) {
    rmSync(to, { recursive: true, force: true });
    linkAll(from, to);
    return;
  }
  const relink = (path: string) => {
    const target = join(to, path);
    rmSync(target, { force: true });
    if (!existsSync(join(from, path))) return;
    mkdirSync(dirname(target), { recursive: true });
    linkSync(join(from, path), target);
  };
  rmSync(join(to, MANIFEST), { force: true });
  for await (const path of createInterface({ input: createReadStream(changes) })) relink(join('files', path));
  for (const name of configuration) relink(name);
  relink(MANIFEST);
}

/** Makes a tree of the same files. The manifest comes last, so that a tree that has it is whole. */
function linkAll(from: string, to: string): void {
  linkFolder(from, to);
  if (existsSync(join(from, MANIFEST))) linkSync(join(from, MANIFEST), join(to, MANIFEST));
}

function linkFolder(from: string, to: string): void {
  mkdirSync(to);
  using folder = opendirSync(from);
  for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
    const [one, other] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkFolder(one, other);
    else if (entry.name !== MANIFEST) linkSync(one, other);
  }
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

type LineWriter = ReturnType<typeof createLineWriter>;

const CHUNK = 64 * 1024;

function createLineWriter(file: string) {
  const fd = openSync(file, 'w');
  let waiting = '';
  let isOpen = true;
  return {
    file,
    add(line: string): void {
      waiting += `${line}\n`;
      if (waiting.length < CHUNK) return;
      writeSync(fd, waiting);
      waiting = '';
    },
    finish(): void {
      if (!isOpen) return;
      isOpen = false;
      writeSync(fd, waiting);
      fsyncSync(fd);
      closeSync(fd);
    },
  };
}

/** One run at a time. */
function lock(folder: string): () => void {
  const db = openExclusive(join(folder, 'trees', LOCK), 0);
  if (db === undefined) throw new OutputError(`another run publishes to ${folder}: wait for its end`);
  return () => void db.close();
}
