// `vitrine publish`: makes a file of every answer, for a platform that does not run Vitrine. The next run goes through all users
// again, and takes over the files of those with the tag that they had before.
import { setTimeout } from 'node:timers/promises';
import v8 from 'node:v8';
import { publicOrigin, serverUrl } from '../../config/addresses.ts';
import { listMounts } from '../../config/settings.ts';
import { createReport, describeCount, megabytes, type Report } from '../../import/terminal.ts';
import { KIND_NAMES, KINDS } from '../../records/kinds.ts';
import { counted } from '../../records/printable.ts';
import { openArchive, openReader } from '../../stores/open.ts';
import { OutputError } from '../../stores/output.ts';
import { toStoreError } from '../../stores/sqlite/errors.ts';
import { VARIANTS } from '../../variants.ts';
import { openAnswers } from './answers.ts';
import { buildTree, listUnchanged } from './build.ts';
import type { Listed } from './manifest.ts';
import { nginx } from './nginx.ts';
import { cloudflare, netlify } from './program.ts';
import { nextTurn, type PublishCounts, type PublishOptions, type PublishRun } from './run.ts';
import type { ConfigInput } from './tables.ts';
import { listTargets, type PlatformName } from './targets.ts';
import { type Configuration, openSite, type Site, type Tree } from './tree.ts';

export async function runPublish(options: PublishOptions, open = openArchive) {
  const { config, without } = options;
  // Answers are garbage as soon as they are written. By default the heap may double before it is collected: for 2,000 users with
  // pages, cards and feeds, 238 MB of RSS instead of 155, for a tenth less CPU.
  v8.setFlagsFromString('--heap-growing-percent=20');
  // Without their pages, users have what they have with EXPLORER=off: nothing leads to a page.
  const explorer = config.explorer && !without.has('pages');
  try {
    return await publish({ ...options, config: { ...config, explorer } }, open);
  } catch (error) {
    throw isDriverError(error) ? toStoreError(config.databaseUrl, error) : error;
  }
}

/** Errors of SQLite name no file. */
const isDriverError = (error: unknown) => error instanceof Error && error.name === 'SqliteError';

async function publish(options: PublishOptions, open: typeof openArchive) {
  const { folder, platform, config, signal } = options;
  await using store = await openReader(config.databaseUrl);
  const fault = await store.fault();
  if (fault !== undefined) throw new OutputError(fault);
  await using answers = await openAnswers(options, store);
  const counts = { written: 0, removed: 0, tooLong: 0, incomplete: 0, damaged: 0 };
  const run: PublishRun = { ...options, store, answers, counts, openArchive: () => open(config.databaseUrl) };
  if (publicOrigin(config) === undefined)
    options.out.write(
      `warning: no base URL names a host, so files name ${serverUrl(config)}: set one such as BASE_URL_B=https://profiles.example.org/b\n`,
    );
  using site = await openSite(folder, platform, signal);
  using progress = createReport(run.out);
  const { listed, warning } = await publishUntilUnchanged(run, site, progress);
  if (warning !== undefined) run.out.write(`warning: ${warning}\n`);
  return report(run, listed, warning);
}

/** The texts of a platform's configuration, by the names of the files; they lie beside the site's. */
const WRITERS: Record<PlatformName, (input: ConfigInput) => Readonly<Record<string, string>>> = {
  nginx: (input) => ({ 'nginx.conf': nginx(input) }),
  cloudflare,
  netlify,
};

const MAX_PASSES = 10;
const LAG_MS = 1000;

/** Goes through the site until the data is the same before and after: so all files are of one moment. */
async function publishUntilUnchanged(
  run: PublishRun,
  site: Site,
  progress: Report,
): Promise<{ readonly listed: Listed; readonly warning?: string | undefined }> {
  const { store, signal, check } = run;
  let previous: Tree | undefined = site.live;
  for (let passes = 1; passes <= MAX_PASSES; passes++) {
    await nextTurn(signal);
    const generation = await readGeneration(run);
    if (store.version() < generation) {
      // Of several PostgreSQL hosts, the one that is read from is behind.
      await setTimeout(LAG_MS, undefined, { signal }).catch(() => nextTurn(signal));
      continue;
    }
    progress.step('looking for changes');
    if (site.live !== undefined && previous === site.live && !check) {
      const listed = await listUnchanged(run, site.live);
      const configuration = listed && (await configure(run, listed));
      const isFor = configuration !== undefined && site.live.isFor(configuration);
      if (listed !== undefined && isFor && store.version() === generation) {
        site.live.touch();
        return { listed };
      }
    }
    const total = await countUsers(run);
    const tree = site.createTree();
    const onUser = (done: number) =>
      progress.step('publishing', Math.min(done / total, 1), describeCount(done, total, 'users'));
    const listed = await buildTree(run, previous, tree, onUser);
    tree.close();
    const configuration = await configure(run, listed);
    if (store.version() === generation) {
      tree.configure(configuration);
      progress.step('putting the files in place');
      return { listed, warning: await site.serve(tree) };
    }
    if (previous !== undefined && previous !== site.live) await site.removeTree(previous);
    previous = tree;
  }
  throw new OutputError(
    `the data changed during each of ${MAX_PASSES} passes: publish again when no import is running; what was published before is served on`,
  );
}

async function readGeneration(run: PublishRun): Promise<number> {
  await using archive = await run.openArchive();
  return (await archive.changes(undefined)).generation;
}

/** The platform's own files. Their headers are those of the app. */
async function configure(run: PublishRun, { samples }: Listed): Promise<Configuration> {
  const { answers, config, without, platform, folder } = run;
  const headers = await answers.readHeaders(samples);
  if (headers.fault !== undefined) throw new OutputError(headers.fault);
  const targets = listTargets(config, without, answers.siteFiles);
  return WRITERS[platform]({ config, folder, targets, headers });
}

async function countUsers({ config, store }: PublishRun): Promise<number> {
  const counts = await store.counts();
  const families = new Set(listMounts(config).map(({ variant }) => VARIANTS[variant].family));
  return KIND_NAMES.filter((kind) => KINDS[kind].role === 'profile' && families.has(KINDS[kind].family))
    .map((kind) => counts[kind])
    .reduce((sum, count) => sum + count, 0);
}

type Totals = Pick<Listed, 'files' | 'bytes'>;

interface PublishResult extends Totals, PublishCounts, Pick<PublishOptions, 'folder' | 'platform'> {
  readonly unchanged: number;
  /** What failed when the new files were served already. */
  readonly warning?: string | undefined;
}

function report({ counts, folder, platform }: PublishRun, { files, bytes }: Totals, warning?: string) {
  const { written, removed, tooLong, damaged } = counts;
  // A file that changes during the run may be written twice.
  const unchanged = Math.max(0, files - written);
  const result: PublishResult = { files, bytes, ...counts, unchanged, folder, platform, warning };
  const line = `published ${counted(files, 'file')}, ${megabytes(bytes)}, in ${folder}: ${written} written, ${unchanged} unchanged, ${removed} removed`;
  const lines = [line];
  if (tooLong > 0) lines.push(`left out: ${counted(tooLong, 'user')} whose names are too long for a file`);
  if (damaged > 0)
    lines.push(
      `left out: ${counted(damaged, 'damaged picture')}. \`vitrine media check\` says how to mend them`,
    );
  return { summary: lines.join('\n'), result };
}
