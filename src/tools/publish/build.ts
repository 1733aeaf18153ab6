// One pass over the site: makes a tree of it. The files of owners whose tag is that of the last run are taken from its tree.
import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import { gzipEtag } from '../../api/http/conditions.ts';
import type { Content } from './answers.ts';
import { listUnits, type PublishedFile, type Unit } from './files.ts';
import {
  compareOwners,
  createListing,
  type Listed,
  type ManifestEntry,
  type OwnedFiles,
} from './manifest.ts';
import { nextTurn, type PublishRun } from './run.ts';
import type { PlatformName } from './targets.ts';
import type { NewTree, Tree } from './tree.ts';

type OnUser = (done: number) => void;

/** An owner of today with the files of the last run. Of one who is gone there are only these. */
interface Pair {
  readonly unit?: Unit;
  readonly before?: OwnedFiles;
}

/** Goes through the site and the manifest of the last run side by side: both are in the order of owners. */
async function* pairOwners(run: PublishRun, previous: Tree | undefined): AsyncGenerator<Pair> {
  const known = previous?.owners();
  const read = async (): Promise<OwnedFiles | undefined> => (await known?.next())?.value ?? undefined;
  let before = await read();
  for await (const unit of listUnits(run)) {
    while (before !== undefined && compareOwners(before.owner, unit.owner) < 0) {
      yield { before };
      before = await read();
    }
    const isSame = before?.owner === unit.owner;
    yield { unit, ...(isSame && before && { before }) };
    if (isSame) before = await read();
  }
  for (; before !== undefined; before = await read()) yield { before };
}

/** What is in the tree of the last run, if no user has changed since; undefined otherwise, which mostly is found soon. */
export async function listUnchanged(run: PublishRun, previous: Tree): Promise<Listed | undefined> {
  const listing = createListing();
  run.counts.tooLong = 0;
  for await (const { unit, before } of pairOwners(run, previous)) {
    if (unit?.isTooLong && before === undefined) {
      run.counts.tooLong++;
      continue;
    }
    if (unit === undefined || before === undefined || !(await isSame(unit, before))) return undefined;
    for (const entry of before.entries.values()) listing.add(entry);
  }
  return listing.total();
}

const isSame = async (unit: Unit, before: OwnedFiles) =>
  before.tag !== '' && before.tag === (await unit.readTag(before.tag));

export async function buildTree(
  run: PublishRun,
  previous: Tree | undefined,
  tree: NewTree,
  onUser: OnUser,
): Promise<Listed> {
  const { counts } = run;
  counts.tooLong = counts.incomplete = counts.damaged = 0;
  const listing = createListing();
  let users = 0;
  for await (const { unit, before } of pairOwners(run, previous)) {
    const entries = unit === undefined ? [] : await buildUnit(run, { unit, before, previous, tree });
    for (const entry of entries) {
      tree.add(entry);
      listing.add(entry);
    }
    const paths = new Set(entries.map(({ path }) => path));
    for (const path of before?.entries.keys() ?? []) if (!paths.has(path)) counts.removed++;
    if (unit?.isTooLong) counts.tooLong++;
    if (unit?.isUser) onUser(++users);
  }
  return listing.total();
}

interface UnitPlace {
  readonly unit: Unit;
  readonly before: OwnedFiles | undefined;
  readonly previous: Tree | undefined;
  readonly tree: NewTree;
}

async function buildUnit(run: PublishRun, place: UnitPlace): Promise<ManifestEntry[]> {
  const { unit, before, previous, tree } = place;
  const { owner } = unit;
  const known = [...(before?.entries.values() ?? [])];
  const tag = await unit.readTag(before?.tag ?? '');
  const isKnown = tag !== '' && tag === before?.tag && !run.check;
  if (previous !== undefined && isKnown && (await hasAll(run, previous, known))) {
    for (const entry of known) tree.take(previous, entry);
    return known;
  }
  const entries: ManifestEntry[] = [];
  for (const file of await unit.listFiles()) {
    if (file.kind !== 'data' && file.kind !== 'media') await nextTurn(run.signal);
    for (const entry of await buildFile(run, place, file)) entries.push({ ...entry, owner, tag });
  }
  const incomplete = entries.filter(({ etag }) => etag.endsWith(INCOMPLETE)).length;
  run.counts.incomplete += incomplete;
  return incomplete === 0 ? entries : entries.map((entry) => ({ ...entry, tag: '' }));
}

const PACKED = '.gz';
/** Platforms that compress answers themselves. */
const COMPRESSING: ReadonlySet<PlatformName> = new Set(['cloudflare', 'netlify']);
/** The end of the ETag of something that lacks a picture, which may be there the next time. */
const INCOMPLETE = '.incomplete"';

type FileEntry = Omit<ManifestEntry, 'owner' | 'tag'>;

/** The entries of a file's paths, with those of its compressed form. */
async function buildFile(run: PublishRun, place: UnitPlace, file: PublishedFile): Promise<FileEntry[]> {
  const { previous, tree } = place;
  const known = await findKnown(run, place, file);
  const content = await file.ask(known?.etag);
  if (content === undefined) return [];
  if (content === 'unchanged') {
    if (previous === undefined || known === undefined) throw new Error('only what is known is unchanged');
    for (const entry of known.entries) tree.take(previous, entry);
    // A base URL that has changed changes addresses, not answers.
    const addresses = new Map(file.paths.map(({ path, address }) => [path, address]));
    return known.entries.map((entry) => ({
      ...entry,
      address: addresses.get(entry.path) ?? null,
      host: file.host,
    }));
  }
  const entries = writeFile(tree, file, content);
  const body = COMPRESSING.has(run.platform) ? undefined : await content.pack?.();
  if (body) {
    const paths = file.paths.map(({ path }) => ({ path: path + PACKED, address: null }));
    entries.push(...writeFile(tree, { ...file, paths }, { ...content, etag: gzipEtag(content.etag), body }));
  }
  run.counts.written += entries.length;
  return entries;
}

/**
 * The entries of a file in the tree of the last run, with the ETag, if it is whole there at all of its paths. These were written
 * at once, so they have one ETag.
 */
async function findKnown(run: PublishRun, { before, previous }: UnitPlace, { paths }: PublishedFile) {
  const find = (path: string) => before?.entries.get(path) ?? [];
  const plain = paths.flatMap(({ path }) => find(path));
  const etag = plain[0]?.etag;
  if (previous === undefined || etag === undefined || plain.length < paths.length) return undefined;
  const entries = [...plain, ...paths.flatMap(({ path }) => find(path + PACKED))];
  return (await hasAll(run, previous, entries)) ? { etag, entries } : undefined;
}

async function hasAll(
  { check }: PublishRun,
  tree: Tree,
  entries: readonly ManifestEntry[],
): Promise<boolean> {
  for (const entry of entries) if (!(await tree.has(entry, check))) return false;
  return true;
}

function writeFile(
  tree: NewTree,
  { paths, host }: PublishedFile,
  { etag, type, body }: Content,
): FileEntry[] {
  const [first] = paths;
  if (first === undefined) return [];
  tree.write(first.path, body);
  for (const { path } of paths.slice(1)) tree.link(first.path, path);
  const isBuffer = Buffer.isBuffer(body);
  const sha256 = isBuffer ? hash('sha256', body) : body.sha256;
  const bytes = isBuffer ? body.length : statSync(body.file).size;
  return paths.map(({ path, address }) => ({ path, address, host, type, etag, sha256, bytes }));
}
