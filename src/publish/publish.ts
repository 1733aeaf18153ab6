// `vitrine publish`: makes a file of every answer, for a host that has no program. The next run looks only at the users who
// changed, and asks for their answers with the ETags that they had before.
import { hash } from 'node:crypto';
import { type Config, listMounts } from '../config/config.ts';
import { VERSION } from '../config/version.ts';
import { OutputError } from '../files/output.ts';
import { megabytes, type Terminal } from '../files/terminal.ts';
import { KIND_NAMES, KINDS } from '../records/kinds.ts';
import { counted } from '../records/printable.ts';
import { createRunReport } from '../runs/each.ts';
import type { Archive } from '../stores/archive.ts';
import { openForExport, openForLookups } from '../stores/open.ts';
import type { Reader } from '../stores/reader.ts';
import { VARIANTS } from '../variants.ts';
import { createSite, readHeaders, type Site } from './ask.ts';
import { HOSTS, type HostName } from './hosts.ts';
import { checkLimits } from './limits.ts';
import type { Source } from './manifest.ts';
import { type PublishCounts, pass } from './pass.ts';
import { listUnits } from './source.ts';
import { listTargets, type Part } from './targets.ts';
import { openTree, openTrial, type Tree } from './tree.ts';

interface PublishOptions {
  readonly folder: string;
  readonly host: HostName;
  readonly without: ReadonlySet<Part>;
  readonly dryRun: boolean;
  /** Looks at everybody, also at those who did not change. */
  readonly check: boolean;
  readonly config: Config & { readonly databaseUrl: string };
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

export async function runPublish(options: PublishOptions) {
  const { folder, host, dryRun, config, out } = options;
  await using store = await openForLookups(config.databaseUrl);
  const fault = await store.fault();
  if (fault !== undefined) throw new OutputError(fault);
  const site = await createSite(config, host, store);
  await using _app = { [Symbol.asyncDispose]: async () => site.app.close() };
  using report = createRunReport(out, 'publishing');
  const everything = { ...options, store, ask: site.ask, changes: 'everything' as const, onTooLong() {} };
  await checkLimits(host, () => listUnits(everything, site.files));
  const tree = (dryRun ? openTrial : openTree)(folder, host);
  try {
    const { source, counts } = await passUntilSteady({ ...options, store, site, tree, report });
    if (!dryRun) {
      const headers = await readHeaders(site.app, tree.manifest.samples());
      const targets = listTargets(config, site.files);
      tree.serve(source, HOSTS[host].write({ config, folder, targets, headers }));
    }
    const { files, bytes } = tree.manifest.totals();
    // A file that changes during the run may be written twice.
    const unchanged = Math.max(0, files - counts.written);
    const result: PublishResult = { files, bytes, ...counts, unchanged, folder, host, dryRun };
    return { summary: summarise(result), result };
  } finally {
    tree.manifest.close();
  }
}

type Report = ReturnType<typeof createRunReport>;

/** Each pass after the first is short: it looks only at the users who changed meanwhile. */
const MAX_PASSES = 10;

interface RunOptions extends PublishOptions {
  readonly store: Reader;
  readonly site: Site;
  readonly tree: Tree;
  readonly report: Report;
}

/**
 * Looks at the users who changed since the last run, then at those who changed meanwhile, until nobody did: so all files are of
 * one moment.
 */
async function passUntilSteady(options: RunOptions): Promise<{ source: Source; counts: PublishCounts }> {
  const { store, site, tree, without, signal, dryRun, check, config } = options;
  const counts = { written: 0, removed: 0, tooLong: 0, incomplete: 0 };
  const settings = await digest(options);
  const { lastRun } = tree.manifest;
  let since = lastRun?.settings === settings && !check ? lastRun.generation : null;
  for (let passes = 1; passes <= MAX_PASSES; passes++) {
    const { generation, changes } = await readArchive(config.databaseUrl, (archive) =>
      archive.changes(since ?? undefined, { withOldItems: !without.has('feeds') }),
    );
    const onUser = showUsers(options, changes === 'everything' ? await countUsers(options) : changes.length);
    await pass({ ...options, ask: site.ask, changes, site: site.files, counts, onUser, signal });
    if (store.version() === generation || dryRun)
      return { source: { generation: counts.incomplete === 0 ? generation : null, settings }, counts };
    since = generation;
  }
  throw new OutputError(
    `the data changed during each of ${MAX_PASSES} passes: publish again when no import is running; what was published before is served on`,
  );
}

async function readArchive<T>(url: string, read: (archive: Archive) => Promise<T>): Promise<T> {
  await using archive = await openForExport(url);
  return await read(archive);
}

/** Whatever shapes the files, besides the data. */
async function digest({ config, host, without }: PublishOptions): Promise<string> {
  const { databaseUrl, databaseUrlFile: _, ...settings } = config;
  // Which copies the archives of feeds name is not among the changes.
  const copies = without.has('feeds')
    ? ''
    : await readArchive(databaseUrl, (archive) => archive.linkedCopies());
  return hash('sha256', JSON.stringify([VERSION, host, [...without].sort(), settings, copies]));
}

function showUsers({ report }: RunOptions, total: number) {
  let done = 0;
  return () => report.progress(Math.min(++done, total), total);
}

async function countUsers({ config, store }: RunOptions): Promise<number> {
  const counts = await store.counts();
  const families = new Set(listMounts(config).map(({ variant }) => VARIANTS[variant].family));
  return KIND_NAMES.filter((kind) => KINDS[kind].role === 'profile' && families.has(KINDS[kind].family))
    .map((kind) => counts[kind])
    .reduce((sum, count) => sum + count, 0);
}

interface PublishResult extends PublishCounts, Pick<PublishOptions, 'folder' | 'host' | 'dryRun'> {
  readonly files: number;
  readonly bytes: number;
  readonly unchanged: number;
}

function summarise(result: PublishResult): string {
  const { folder, dryRun, files, bytes, written, unchanged, removed, tooLong } = result;
  const line = `${dryRun ? 'would publish' : 'published'} ${counted(files, 'file')}, ${megabytes(bytes)}, in ${folder}: ${written} written, ${unchanged} unchanged, ${removed} removed`;
  if (tooLong === 0) return line;
  return `${line}\nleft out: ${counted(tooLong, 'user')} whose names are too long for a file`;
}
