// The tree that is not served: made for the next run, and brought into step after it.
import {
  createReadStream,
  existsSync,
  linkSync,
  mkdirSync,
  opendirSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { LOCK, MANIFEST, readServed, TREES } from './folder.ts';

/** The tree that is served, and the other one with the same files and no manifest, to be changed. */
export function prepareTrees(folder: string, configuration: readonly string[]) {
  const trees = join(folder, 'trees');
  const served = readServed(folder);
  const [name, other] = served?.endsWith('0') ? (['1', '0'] as const) : (['0', '1'] as const);
  const [spare, live] = [join(trees, name), join(trees, other)];
  const isContinued =
    served !== undefined && [...configuration, MANIFEST].every((file) => existsSync(join(live, file)));
  if (!isContinued || !isInStep(live, spare)) {
    rmSync(spare, { recursive: true, force: true });
    if (isContinued) linkAll(live, spare);
  }
  mkdirSync(join(spare, 'files'), { recursive: true });
  rmSync(join(spare, MANIFEST), { force: true });
  for (const found of readdirSync(trees)) if (![...TREES, LOCK].includes(found)) rmSync(join(trees, found));
  return { live, spare, isContinued };
}

function isInStep(live: string, spare: string): boolean {
  const [one, other] = [live, spare].map((tree) => statSync(join(tree, MANIFEST), { throwIfNoEntry: false }));
  return one !== undefined && one.ino === other?.ino;
}

/** Makes the changes of one tree, which a file lists, in the other. */
export async function followChanges(
  from: string,
  to: string,
  { changes, configuration }: { readonly changes: string; readonly configuration: readonly string[] },
): Promise<void> {
  const relink = (path: string) => {
    const target = join(to, path);
    rmSync(target, { force: true });
    if (!existsSync(join(from, path))) return;
    mkdirSync(dirname(target), { recursive: true });
    linkSync(join(from, path), target);
  };
  rmSync(join(to, MANIFEST), { force: true });
  for await (const path of createInterface({ input: createReadStream(changes) })) relink(join('files', path));
  for (const name of [...configuration, MANIFEST]) relink(name);
}

/** Makes a tree of the same files. The manifest comes last, so that a tree that has it is whole. */
export function linkAll(from: string, to: string): void {
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
