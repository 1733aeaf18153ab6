// One pass over the site: brings the tree and its manifest up to date.
import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import { gzipEtag } from '../../api/http/conditions.ts';
import type { ChangeSet } from '../../stores/sql/changes.ts';
import type { Content } from './answers.ts';
import { COPIES, listOwners, listUnits, type PublishedFile, type Unit } from './files.ts';
import type { ManifestEntry, Place } from './manifest.ts';
import { nextTurn, type PublishRun } from './run.ts';
import type { PlatformName } from './targets.ts';
import type { Tree } from './tree.ts';

export async function publishOnce(
  run: PublishRun,
  tree: Tree,
  { changes, lacksGone }: ChangeSet,
  on: { user(done: number): void; search(): void; removal(): void },
): Promise<void> {
  const { manifest } = tree;
  manifest.startPass();
  run.counts.damaged = 0;
  let users = 0;
  for await (const unit of listUnits(run, changes)) {
    await publishUnit(run, tree, unit);
    manifest.see(unit.owner);
    if (unit.isTooLong) run.counts.tooLong++;
    if (unit.isUser) on.user(++users);
  }
  if (lacksGone) {
    on.search();
    for await (const owner of listOwners(run)) manifest.see(owner);
  }
  on.removal();
  // Users who did not change are not looked at.
  const begin = changes === 'everything' || lacksGone ? '' : COPIES;
  for await (const place of manifest.unseen(begin, () => nextTurn(run.signal))) remove(run, tree, place);
}

const PACKED = '.gz';
/** Platforms that compress answers themselves. */
const COMPRESSING: ReadonlySet<PlatformName> = new Set(['cloudflare', 'netlify']);

async function publishUnit(run: PublishRun, tree: Tree, { owner, files }: Unit): Promise<void> {
  const before = tree.manifest.find(owner);
  const paths = new Set(files.flatMap((file) => file.paths.flatMap(({ path }) => [path, path + PACKED])));
  // First, so that on a file system that ignores letter case the file of another spelling does not go with them.
  for (const entry of before.values())
    if (!paths.has(entry.path)) {
      remove(run, tree, entry);
      before.delete(entry.path);
    }
  for (const file of files) {
    if (file.kind !== 'data' && file.kind !== 'media') await nextTurn(run.signal);
    for (const entry of await publishFile(run, tree, owner, file, before)) {
      if (before.get(entry.path) !== entry) tree.manifest.put(entry);
      before.delete(entry.path);
    }
  }
  for (const entry of before.values()) remove(run, tree, entry);
}

function remove({ counts }: PublishRun, tree: Tree, place: Place): void {
  counts.removed++;
  tree.manifest.remove(place);
  tree.remove(place.path);
}

/** The end of the ETag of something that lacks a picture, which may be there the next time. */
const INCOMPLETE = '.incomplete"';

/** The entries of a file's paths, with those of its compressed form; those of before where nothing changed. */
async function publishFile(
  { platform, counts }: PublishRun,
  tree: Tree,
  owner: string,
  file: PublishedFile,
  before: ReadonlyMap<string, ManifestEntry>,
): Promise<ManifestEntry[]> {
  const { paths } = file;
  const old = paths.map(({ path }) => before.get(path));
  const packed = paths.map(({ path }) => before.get(path + PACKED)).filter((entry) => entry !== undefined);
  const known = old.filter((entry) => entry !== undefined);
  const isWhole =
    known.length === old.length &&
    known.every((entry) => entry.etag === known[0]?.etag) &&
    (await hasAll(tree, [...known, ...packed]));
  const content = await file.ask(isWhole ? old[0]?.etag : undefined);
  if (content === undefined) return [];
  if (content === 'unchanged') {
    // A base URL that has changed changes addresses, not answers.
    const entries = paths.map(({ path, address }) => {
      // Only an answer whose files are whole is unchanged.
      const entry = before.get(path) as ManifestEntry;
      const isSame = entry.address === address && entry.host === file.host;
      return isSame ? entry : { ...entry, address, host: file.host };
    });
    return [...entries, ...packed];
  }
  const entries = writeFile(tree, owner, file, content);
  const body = COMPRESSING.has(platform) ? undefined : await content.pack?.();
  if (body) {
    const packedPaths = paths.map(({ path }) => ({ path: path + PACKED, address: null }));
    const packedContent = { ...content, etag: gzipEtag(content.etag), body };
    entries.push(...writeFile(tree, owner, { ...file, paths: packedPaths }, packedContent));
  }
  counts.written += entries.length;
  if (content.etag.endsWith(INCOMPLETE)) counts.incomplete++;
  return entries;
}

async function hasAll(tree: Tree, entries: readonly ManifestEntry[]): Promise<boolean> {
  for (const entry of entries) if (!(await tree.has(entry))) return false;
  return true;
}

function writeFile(
  tree: Tree,
  owner: string,
  { paths, kind, host }: PublishedFile,
  { etag, type, body }: Content,
): ManifestEntry[] {
  const [first] = paths;
  if (first === undefined) return [];
  tree.write(first.path, body);
  for (const { path } of paths.slice(1)) tree.link(first.path, path);
  const isBuffer = Buffer.isBuffer(body);
  const sha256 = isBuffer ? hash('sha256', body) : body.sha256;
  const bytes = isBuffer ? body.length : statSync(body.file).size;
  return paths.map(({ path, address }) => ({ owner, path, kind, address, host, type, etag, sha256, bytes }));
}
