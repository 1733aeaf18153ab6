// One pass over the site: brings the tree and its manifest up to date.
import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import { OutputError } from '../files/output.ts';
import { gzipEtag } from '../http/answer.ts';
import type { Content } from './ask.ts';
import { HOSTS, type HostName } from './hosts.ts';
import type { Entry, Place } from './manifest.ts';
import { COPIES, listUnits, SITE, type SourceOptions } from './source.ts';
import type { SiteFile } from './targets.ts';
import type { Tree } from './tree.ts';
import type { PublishedFile } from './user-files.ts';

export interface PublishCounts {
  written: number;
  removed: number;
  /** Users whose names are too long for the name of a file, of those who were looked at. */
  tooLong: number;
  /** Files that lack something, and are written again by the next run. */
  incomplete: number;
}

interface PassOptions extends Omit<SourceOptions, 'onTooLong'> {
  readonly site: ReadonlyMap<string, SiteFile>;
  readonly host: HostName;
  readonly tree: Tree;
  readonly counts: PublishCounts;
  readonly onUser: () => void;
  readonly signal: AbortSignal;
}

export async function pass(options: PassOptions): Promise<void> {
  const { counts, tree, changes, signal } = options;
  const { manifest } = tree;
  const remove = (place: Place) => {
    counts.removed++;
    manifest.remove(place);
    tree.remove(place.path);
  };
  manifest.startPass();
  const source = { ...options, onTooLong: () => void counts.tooLong++ };
  for await (const { owner, files } of listUnits(source, options.site)) {
    if (signal.aborted) throw new OutputError('stopped: what was published before is served on');
    const before = manifest.find(owner);
    for (const file of files)
      for (const entry of await bringUpToDate(owner, file, before, options)) {
        if (before.get(entry.path) !== entry) manifest.put(entry);
        before.delete(entry.path);
      }
    for (const entry of before.values()) remove(entry);
    manifest.see(owner);
    if (owner !== SITE && !owner.startsWith(COPIES)) options.onUser();
  }
  // Users who did not change are not looked at.
  for (const entry of manifest.unseen(changes === 'everything' ? '' : COPIES)) remove(entry);
}

const PACKED = '.gz';
/** The end of the ETag of something that lacks a picture, which may be there the next time. */
const INCOMPLETE = '.incomplete"';

/** The entries of a file's paths, with those of its compressed form; those of before where nothing changed. */
async function bringUpToDate(
  owner: string,
  file: PublishedFile,
  before: ReadonlyMap<string, Entry>,
  { host, tree, counts }: PassOptions,
): Promise<Entry[]> {
  const { paths } = file;
  const old = paths.map(({ path }) => before.get(path));
  const packed = paths.map(({ path }) => before.get(path + PACKED)).filter((entry) => entry !== undefined);
  const isWhole =
    old.every((entry) => entry !== undefined && entry.etag === old[0]?.etag && tree.has(entry)) &&
    packed.every(tree.has);
  const content = await file.ask(isWhole ? old[0]?.etag : undefined);
  if (content === undefined) return [];
  if (content === 'same') {
    // A base URL that has changed changes addresses, not answers.
    const entries = paths.map(({ path, address }) => {
      const entry = before.get(path) as Entry;
      return entry.address === address && entry.host === file.host
        ? entry
        : { ...entry, address, host: file.host };
    });
    return [...entries, ...packed];
  }
  const entries = write(tree, content, { ...file, owner });
  const body = HOSTS[host].compresses ? undefined : await content.pack?.();
  if (body) {
    const packedPaths = paths.map(({ path }) => ({ path: path + PACKED, address: null }));
    const packedContent = { ...content, etag: gzipEtag(content.etag), body };
    entries.push(...write(tree, packedContent, { ...file, owner, paths: packedPaths }));
  }
  counts.written += entries.length;
  if (content.etag.endsWith(INCOMPLETE)) counts.incomplete++;
  return entries;
}

function write(
  tree: Tree,
  { etag, type, body }: Content,
  { owner, paths, kind, host }: Omit<PublishedFile, 'ask'> & Pick<Entry, 'owner'>,
): Entry[] {
  const [first] = paths;
  if (first === undefined) return [];
  tree.write(first.path, body);
  for (const { path } of paths.slice(1)) tree.link(first.path, path);
  const isBuffer = Buffer.isBuffer(body);
  const sha256 = isBuffer ? hash('sha256', body) : body.sha256;
  const bytes = isBuffer ? body.length : statSync(body.file).size;
  return paths.map(({ path, address }) => ({ owner, path, kind, address, host, type, etag, sha256, bytes }));
}
