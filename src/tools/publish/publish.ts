// `vitrine publish`: makes a file of every answer, for a platform that does not run Vitrine. The next run looks only at the users
// who changed, and asks for their answers with the ETags that they had before.
import { hash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import v8 from 'node:v8';
import { publicOrigin, serverUrl } from '../../config/addresses.ts';
import { findMediaUrl } from '../../config/media.ts';
import { VERSION } from '../../config/package-files.ts';
import { listMounts, type SettingName } from '../../config/settings.ts';
import { megabytes } from '../../import/terminal.ts';
import { KIND_NAMES, KINDS } from '../../records/kinds.ts';
import { counted } from '../../records/printable.ts';
import { openArchive, openReader } from '../../stores/open.ts';
import { OutputError } from '../../stores/output.ts';
import type { ChangeSet } from '../../stores/sql/changes.ts';
import { toStoreError } from '../../stores/sqlite/errors.ts';
import { VARIANTS } from '../../variants.ts';
import { createRunReport, type RunReport } from '../remote/run-report.ts';
import { openAnswers } from './answers.ts';
import { isDriverError, type Listed } from './manifest.ts';
import { nginx } from './nginx.ts';
import { cloudflare, netlify } from './program.ts';
import { nextTurn, type PublishCounts, type PublishOptions, type PublishRun } from './run.ts';
import type { ConfigInput } from './tables.ts';
import { listTargets, type PlatformName, showsOldItems } from './targets.ts';
import { openTree, type Tree } from './tree.ts';
import { publishOnce } from './update.ts';

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
    // The manifest's own name its file already.
    throw isDriverError(error) ? toStoreError(config.databaseUrl, error) : error;
  }
}

async function publish(options: PublishOptions, open: typeof openArchive) {
  const { folder, platform, config, signal } = options;
  await using store = await openReader(config.databaseUrl);
  const fault = await store.fault();
  if (fault !== undefined) throw new OutputError(fault);
  await using answers = await openAnswers(options, store);
  const run = {
    ...options,
    store,
    answers,
    openArchive: () => open(config.databaseUrl),
    counts: { written: 0, removed: 0, tooLong: 0, incomplete: 0, damaged: 0 },
  };
  if (publicOrigin(config) === undefined)
    options.out.write(
      `warning: no base URL names a host, so files name ${serverUrl(config)}: set one such as BASE_URL_B=https://profiles.example.org/b\n`,
    );
  using tree = await openTree(folder, platform, signal, options.check);
  const { listed, warning } = await publishTree(run, tree);
  if (warning !== undefined) run.out.write(`warning: ${warning}\n`);
  return report(run, listed, warning);
}

async function publishTree(run: PublishRun, tree: Tree) {
  const { folder, platform, config, without, answers } = run;
  using progress = createRunReport(run.out, 'publishing');
  const { input, headers, listed } = await publishUntilUnchanged(run, tree, progress);
  const targets = listTargets(config, without, answers.siteFiles);
  progress.step('putting the files in place');
  const warning = await tree.serve(input, WRITERS[platform]({ config, folder, targets, headers }));
  return { listed, warning };
}

/** The texts of a platform's configuration, by the names of the files; they lie beside the site's. */
const WRITERS: Record<PlatformName, (input: ConfigInput) => Readonly<Record<string, string>>> = {
  nginx: (input) => ({ 'nginx.conf': nginx(input) }),
  cloudflare,
  netlify,
};

const MAX_PASSES = 10;
const LAG_MS = 1000;

/**
 * Looks at the users who changed since the last run, then at those who changed meanwhile, until the data is the same before
 * and after: so all files are of one moment.
 */
async function publishUntilUnchanged(run: PublishRun, tree: Tree, progress: RunReport) {
  const { store, answers, config, without, signal, check, counts } = run;
  const withOldItems = showsOldItems(config, without);
  const settings = digestSettings(run);
  const { lastRun } = tree.manifest;
  let since = lastRun?.settings === settings && !check ? lastRun.generation : null;
  for (let passes = 1; passes <= MAX_PASSES; passes++) {
    await nextTurn(signal);
    progress.step('looking for changes');
    const changeSet = await readChanges(run, since, withOldItems);
    const { generation, changes } = changeSet;
    if (store.version() < generation) {
      // Of several PostgreSQL hosts, the one that is read from is behind.
      await setTimeout(LAG_MS, undefined, { signal }).catch(() => nextTurn(signal));
      continue;
    }
    const total = changes === 'everything' ? await countUsers(run) : changes.length;
    await publishOnce(run, tree, changeSet, {
      user: (done) => progress.progress(Math.min(done, total), total),
      search: () => progress.step('looking for users who are gone'),
      removal: () => progress.step('removing files of users who are gone'),
    });
    progress.step('listing the files');
    const listed = await tree.list();
    const headers = await answers.readHeaders(listed.samples);
    if (store.version() === generation) {
      if (headers.fault !== undefined) throw new OutputError(headers.fault);
      const input = { generation: counts.incomplete === 0 ? generation : null, settings };
      return { input, headers, listed };
    }
    since = generation;
  }
  throw new OutputError(
    `the data changed during each of ${MAX_PASSES} passes: publish again when no import is running; what was published before is served on`,
  );
}

async function readChanges(run: PublishRun, since: number | null, withOldItems: boolean): Promise<ChangeSet> {
  await using archive = await run.openArchive();
  return await archive.changes(since ?? undefined, { withOldItems, findsGone: true });
}

/** Settings that change files of users. Those that are there once are asked for in each run. */
const SHAPING: readonly SettingName[] = [
  'explorer',
  'siteName',
  'siteLogo',
  'siteUrl',
  'accent',
  'imageHosts',
  'mediaDir',
];

/** All that shapes the files, besides the data. */
function digestSettings(run: PublishRun): string {
  const { config, platform, without } = run;
  const settings = [listMounts(config), findMediaUrl(config), ...SHAPING.map((name) => config[name])];
  return hash('sha256', JSON.stringify([VERSION, platform, [...without].sort(), settings]));
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
      `left out: ${counted(damaged, 'damaged picture')}: run \`vitrine media check --remove-damaged\`, then \`vitrine media fetch --check\``,
    );
  return { summary: lines.join('\n'), result };
}
