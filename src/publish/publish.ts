// `vitrine publish`: makes a file of every answer, for a host that has no program. What did not change is not even read:
// each answer is asked for with the ETag that it had before.
import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import { type Config, listMounts } from '../config/config.ts';
import { OutputError } from '../files/output.ts';
import { megabytes, type Terminal } from '../files/terminal.ts';
import { gzipEtag } from '../http/answer.ts';
import { KIND_NAMES, KINDS } from '../records/kinds.ts';
import { counted } from '../records/printable.ts';
import { createRunReport } from '../runs/each.ts';
import { buildApp } from '../server/app.ts';
import { openForLookups } from '../stores/open.ts';
import type { Reader } from '../stores/reader.ts';
import { createLog } from '../telemetry/log.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { VARIANTS } from '../variants.ts';
import { type Asker, type Content, createAsker, listSiteFiles } from './ask.ts';
import { HOSTS, type HostName } from './hosts.ts';
import { checkLimits } from './limits.ts';
import { type Entry, type Place, readBeside } from './manifest.ts';
import { type Answered, listUnits, type Part } from './source.ts';
import { listHosts, listTargets, type SiteFile } from './targets.ts';
import { openTree, openTrial, type Tree } from './tree.ts';

interface PublishOptions {
  readonly folder: string;
  readonly host: HostName;
  readonly without: ReadonlySet<Part>;
  readonly dryRun: boolean;
  readonly config: Config & { readonly databaseUrl: string };
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

interface PublishCounts {
  files: number;
  bytes: number;
  written: number;
  unchanged: number;
  removed: number;
  /** Users whose names are too long for the name of a file. */
  tooLong: number;
}

export async function runPublish(options: PublishOptions) {
  const { folder, host, dryRun, config, out } = options;
  await using store = await openForLookups(config.databaseUrl);
  const fault = await store.fault();
  if (fault !== undefined) throw new OutputError(fault);
  const site = await createSite(config, store);
  await using _app = { [Symbol.asyncDispose]: async () => site.app.close() };
  using report = createRunReport(out, 'publishing');
  const everything = { ...options, store, asker: site.asker, onTooLong() {} };
  const note = await checkLimits(host, options.without, () => listUnits(everything, site.files));
  const tree = await (dryRun ? openTrial : openTree)(folder, HOSTS[host].files);
  try {
    const counts = await passUntilSteady({ ...options, store, site, tree, report });
    if (!dryRun) {
      const headers = await site.asker.readHeaders();
      const targets = listTargets(config, site.files);
      await tree.serve(HOSTS[host].write({ config, folder, targets, headers }));
    }
    const summary = [summarise(options, counts), ...(note === undefined ? [] : [note])].join('\n');
    return { summary, result: { ...counts, folder, host, dryRun } };
  } finally {
    tree.close();
  }
}

type Report = ReturnType<typeof createRunReport>;

interface Site {
  readonly app: ReturnType<typeof buildApp>['app'];
  readonly asker: Asker;
  readonly files: ReadonlyMap<string, SiteFile>;
}

/** The app that serves, without what protects a server from its clients. */
/** Files of many users share their headers. */
const NO_TAGS = { cacheTagHeader: undefined, purge: [] };

async function createSite(config: Config, store: Reader): Promise<Site> {
  const quiet = { ...config, rateLimit: undefined, maxLoopDelay: 0, accessLog: false, ...NO_TAGS };
  const telemetry = createTelemetry(quiet, createLog({ logLevel: 'silent' }, { write() {} }));
  const { app } = buildApp({ config: quiet, store, telemetry });
  const addresses: string[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    if (method === 'GET' && !/:|^\/(?:healthz|readyz)$/.test(url)) addresses.push(url);
  });
  await app.ready();
  return { app, asker: createAsker(app), files: await listSiteFiles(app, addresses, listHosts(config)) };
}

interface PassOptions extends PublishOptions {
  readonly store: Reader;
  readonly site: Site;
  readonly tree: Tree;
  readonly report: Report;
}

/** Each pass after the first reads only what has changed, and is short. */
const MAX_PASSES = 10;

/** Data that changes on the way is read again, so that all files are of one moment. */
async function passUntilSteady(options: PassOptions): Promise<PublishCounts> {
  const { store, tree } = options;
  let previous = tree.manifest;
  for (let passes = 1; passes <= MAX_PASSES; passes++) {
    const version = store.version();
    const counts = { files: 0, bytes: 0, written: 0, unchanged: 0, removed: 0, tooLong: 0 };
    const manifest = tree.newManifest();
    await pass(options, counts, { previous, add: manifest.add });
    manifest.finish();
    if (store.version() === version) return counts;
    previous = manifest.file;
  }
  throw new OutputError(
    `the data changed during each of ${MAX_PASSES} passes: publish again when no import is running; what was published before is served on`,
  );
}

interface Lists {
  /** The manifest of what is in the tree. */
  readonly previous: string;
  /** Adds a line to the next manifest. */
  readonly add: (line: string) => void;
}

async function pass(options: PassOptions, counts: PublishCounts, { previous, add }: Lists): Promise<void> {
  const { config, store, site, tree, report, signal, host } = options;
  const total = await countUsers(config, store);
  const remove = ({ path }: Entry) => {
    counts.removed++;
    tree.remove(path);
  };
  const keep = (entry: Entry) => {
    counts.files++;
    counts.bytes += entry.bytes;
    add(JSON.stringify(entry));
  };
  const beside = readBeside(previous, remove);
  let done = 0;
  const source = { ...options, asker: site.asker, onTooLong: () => void counts.tooLong++ };
  for await (const { group, user, files } of listUnits(source, site.files)) {
    if (signal.aborted) throw new OutputError('stopped: what was published before is served on');
    const before = await beside.find({ group, user });
    for (const file of files)
      for (const entry of await bringUpToDate(file, before, { tree, counts, place: { group, user }, host })) {
        before.delete(entry.path);
        keep(entry);
      }
    for (const entry of before.values()) remove(entry);
    if (group > 0) report.progress({ done: Math.min(++done, total), total, skipped: 0 });
  }
  await beside.rest();
}

async function countUsers(config: Config, store: Reader): Promise<number> {
  const counts = await store.counts();
  const families = new Set(listMounts(config).map(({ variant }) => VARIANTS[variant].family));
  return KIND_NAMES.filter((kind) => KINDS[kind].role === 'profile' && families.has(KINDS[kind].family))
    .map((kind) => counts[kind])
    .reduce((sum, count) => sum + count, 0);
}

interface FileWork {
  readonly host: HostName;
  readonly tree: Tree;
  readonly counts: PublishCounts;
  readonly place: Place;
}

const PACKED = '.gz';

/** The entries of a file's paths, with those of its compressed form. */
async function bringUpToDate(
  { paths, ask }: Answered,
  before: ReadonlyMap<string, Entry>,
  { tree, counts, place, host }: FileWork,
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
    counts.unchanged += entries.length + packed.length;
    return [...entries, ...packed];
  }
  const entries = write(tree, content, paths, place);
  const body = HOSTS[host].compresses ? undefined : await content.pack?.();
  if (body) {
    const packedPaths = paths.map(({ path }) => ({ path: path + PACKED }));
    entries.push(...write(tree, { ...content, etag: gzipEtag(content.etag), body }, packedPaths, place));
  }
  counts.written += entries.length;
  return entries;
}

function write(
  tree: Tree,
  { etag, type, body }: Content,
  paths: Answered['paths'],
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

function summarise({ folder, dryRun }: PublishOptions, counts: PublishCounts): string {
  const { files, bytes, written, unchanged, removed, tooLong } = counts;
  const lines = [
    `${dryRun ? 'would publish' : 'published'} ${counted(files, 'file')}, ${megabytes(bytes)}, in ${folder}: ${written} written, ${unchanged} unchanged, ${removed} removed`,
  ];
  if (tooLong > 0) lines.push(`left out: ${counted(tooLong, 'user')} whose names are too long for a file`);
  return lines.join('\n');
}
