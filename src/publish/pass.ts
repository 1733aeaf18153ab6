// One pass over the site: brings the tree up to date, and writes the manifest of what is in it then.
import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import { listMounts } from '../config/config.ts';
import { OutputError } from '../files/output.ts';
import { gzipEtag } from '../http/answer.ts';
import type { Content } from './ask.ts';
import { HOSTS, type HostName } from './hosts.ts';
import { type Entry, type Lines, type Place, parseLines, readBeside } from './manifest.ts';
import { isUserGroup, listUnits, type SourceOptions } from './source.ts';
import type { SiteFile } from './targets.ts';
import type { Tree } from './tree.ts';
import type { PublishedFile } from './user-files.ts';

export interface PublishCounts {
  files: number;
  bytes: number;
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
  /** The manifest of what is in the tree. */
  readonly previous: string;
  /** Adds a line to the next manifest. */
  readonly add: (line: string) => void;
  readonly onUser: () => void;
  readonly signal: AbortSignal;
}

export async function pass(options: PassOptions): Promise<void> {
  const { counts, tree, add, changes } = options;
  Object.assign(counts, { files: 0, bytes: 0 });
  const remove = ({ path }: Entry) => {
    counts.removed++;
    tree.remove(path);
  };
  const keep = (line: string, bytes: number) => {
    counts.files++;
    counts.bytes += bytes;
    add(line);
  };
  const skip = (skipped: Lines) => {
    if (changes !== 'everything' && isUserGroup(skipped.group))
      for (const line of skipped.lines) {
        noteSample(line, options);
        keep(line, bytesIn(line));
      }
    else for (const entry of parseLines(skipped)) remove(entry);
  };
  const beside = readBeside(options.previous, skip);
  const source = { ...options, onTooLong: () => void counts.tooLong++ };
  for await (const { group, user, files } of listUnits(source, options.site)) {
    if (options.signal.aborted) throw new OutputError('stopped: what was published before is served on');
    const before = await beside.find({ group, user });
    for (const file of files)
      for (const entry of await bringUpToDate(file, before, { ...options, place: { group, user } })) {
        before.delete(entry.path);
        keep(JSON.stringify(entry), entry.bytes);
      }
    for (const entry of before.values()) remove(entry);
    if (isUserGroup(group)) options.onUser();
  }
  await beside.end();
}

/** It is the last member of an entry. */
const bytesIn = (line: string) => Number(line.slice(line.lastIndexOf(':') + 1, -1));

const PATH = '"path":"';
const ADDRESS = '","address":';

/** What files of a kind have in common is read from the answer to one of them, also when no user is looked at. */
function noteSample(line: string, { asker, config }: Pick<SourceOptions, 'asker' | 'config'>): void {
  const start = line.indexOf(PATH) + PATH.length;
  const end = line.indexOf('"', start);
  if (!line.startsWith(ADDRESS, end) || !asker.isNew(line.slice(start, end))) return;
  const { path, address = '' } = JSON.parse(line) as Entry;
  const [folder = '', variant] = path.split('/');
  const mount = listMounts(config).find((each) => each.variant === variant);
  asker.note(folder, path, address, mount?.base.host);
}

interface FileWork {
  readonly host: HostName;
  readonly tree: Tree;
  readonly counts: PublishCounts;
  readonly place: Place;
}

const PACKED = '.gz';
/** The end of the ETag of something that lacks a picture, which may be there the next time. */
const INCOMPLETE = '.incomplete"';

/** The entries of a file's paths, with those of its compressed form. */
async function bringUpToDate(
  { paths, ask }: PublishedFile,
  before: ReadonlyMap<string, Entry>,
  { host, tree, counts, place }: FileWork,
): Promise<Entry[]> {
  const old = paths.map(({ path }) => before.get(path));
  const packed = paths.map(({ path }) => before.get(path + PACKED)).filter((entry) => entry !== undefined);
  const isWhole =
    old.every((entry) => entry !== undefined && entry.etag === old[0]?.etag && tree.has(entry)) &&
    packed.every(tree.has);
  const content = await ask(isWhole ? old[0]?.etag : undefined);
  if (content === undefined) return [];
  if (content === 'same') {
    // A base URL that has changed changes addresses, not answers.
    const entries = paths.map(({ path, address }) => ({ ...(before.get(path) as Entry), address }));
    return [...entries, ...packed];
  }
  const entries = write(tree, content, paths, place);
  const body = HOSTS[host].compresses ? undefined : await content.pack?.();
  if (body) {
    const packedPaths = paths.map(({ path }) => ({ path: path + PACKED }));
    entries.push(...write(tree, { ...content, etag: gzipEtag(content.etag), body }, packedPaths, place));
  }
  counts.written += entries.length;
  if (content.etag.endsWith(INCOMPLETE)) counts.incomplete++;
  return entries;
}

function write(
  tree: Tree,
  { etag, type, body }: Content,
  paths: PublishedFile['paths'],
  { group, user }: Place,
): Entry[] {
  const [first] = paths;
  if (first === undefined) return [];
  tree.write(first.path, body);
  for (const { path } of paths.slice(1)) tree.link(first.path, path);
  const isBuffer = Buffer.isBuffer(body);
  const sha256 = isBuffer ? hash('sha256', body) : body.sha256;
  const bytes = isBuffer ? body.length : statSync(body.file).size;
  return paths.map(({ path, address }) => ({ group, user, path, address, type, etag, sha256, bytes }));
}
