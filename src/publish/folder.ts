// What a publish folder may hold. A run removes whole trees, so it refuses a folder in which anything else lies there.
import { type Dirent, existsSync, lstatSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OutputError } from '../files/output.ts';
import { HOSTS } from './hosts.ts';

export const MANIFEST = 'manifest.ndjson';
/** Stays in `trees/` between runs: a lock on a file that is removed locks nothing. */
export const LOCK = 'lock';

const LINKS = ['current', 'current.next'];
export const TREES = ['0', '1'];
const IN_TREE = [MANIFEST, ...Object.values(HOSTS).flatMap(({ files }) => files)];

/** Throws if `current` or something in `trees/` was not made by `vitrine publish`. */
export function refuseOthers(folder: string): void {
  const trees = join(folder, 'trees');
  const others = [
    ...LINKS.map((name) => join(folder, name)).filter((path) => !isOurLink(path)),
    ...listOthers(trees, isInTrees),
    ...TREES.flatMap((name) => listOthers(join(trees, name), isInTree)),
  ];
  if (others.length > 0)
    throw new OutputError(`${others[0]} was not made by \`vitrine publish\`: specify another folder`);
}

/** The tree that is served, as the link names it. */
export function readServed(folder: string): string | undefined {
  const link = join(folder, 'current');
  return lstatSync(link, { throwIfNoEntry: false }) && readlinkSync(link);
}

function isOurLink(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return true;
  return found.isSymbolicLink() && TREES.some((name) => readlinkSync(path) === join('trees', name));
}

const isInTrees = (entry: Dirent) =>
  TREES.includes(entry.name)
    ? entry.isDirectory()
    : entry.isFile() && /^(?:lock|changes|manifest-\d+)$/.test(entry.name);

const isInTree = (entry: Dirent) =>
  ['files', ...IN_TREE.filter((name) => name.includes('/')).map(dirname)].includes(entry.name)
    ? entry.isDirectory()
    : entry.isFile() && IN_TREE.includes(entry.name);

/** The paths in a folder that are not ours, or the path itself if it is no folder. */
function listOthers(folder: string, isOurs: (entry: Dirent) => boolean): string[] {
  if (!existsSync(folder)) return [];
  if (!statSync(folder).isDirectory()) return [folder];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !isOurs(entry))
    .map(({ name }) => join(folder, name));
}
