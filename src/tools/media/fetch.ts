// The fetch command: lists the originals that changed records name, fetches those that have no copy, makes small pictures of each,
// and links the copies.
import { createReport, type Report, type Terminal } from '../../import/terminal.ts';
import { createMediaFolder, type MediaFolder } from '../../stores/media-folder.ts';
import { openArchive } from '../../stores/open.ts';
import { OutputError } from '../../stores/output.ts';
import type { OriginalState } from '../../stores/sql/media.ts';
import type { Writer } from '../../stores/writer.ts';
import { createRun, type Run } from '../remote/each.ts';
import { createFileClient, type FileResult, isAddressTooLong, refusal } from '../remote/file-client.ts';
import { createHosts, type HostFlags } from '../remote/host.ts';
import {
  createCopyFinder,
  describeRefused,
  findScope,
  isEverything,
  listOriginals,
  saveListed,
} from './list-originals.ts';
import { createOriginals, createSaver, type Originals, type Saver, TakedownMade } from './originals.ts';
import { createOutcomes, describeFetch, type FetchOutcome, HOSTS_OPTION } from './outcomes.ts';
import { openQuota } from './quota.ts';
import { fileReceiver, type ReceivedFile } from './receive.ts';
import { loadShrink, type Shrink } from './shrink.ts';
import { completeSmallPictures, createShrinker, type Shrinker } from './small-pictures.ts';

export interface FetchOptions extends HostFlags {
  /** Whether all records and files are looked at, also those that were looked at before. */
  readonly check: boolean;
  /** Whether attachments and audio are fetched as well. */
  readonly files: boolean;
  readonly maxFile: number;
  /** How many bytes the folder may hold. */
  readonly mediaQuota: number;
  /** Hosts that may be asked. */
  readonly mediaHosts: readonly string[];
  /** Sites that may be asked whatever their addresses are. */
  readonly sites: readonly URL[];
  readonly mediaDir: string;
  /** What records name copies by. */
  readonly mediaUrl: string;
  /** The URL of the database. */
  readonly database: string;
  readonly writer: Pick<Writer, 'saveOriginals' | 'saveFacts' | 'noteTry' | 'finishFetch' | 'unknownFiles'>;
  readonly out: Terminal;
  readonly signal: AbortSignal;
  /** Called before the copies are linked, which cannot be interrupted. */
  readonly onLinking?: () => void;
  readonly loadShrink?: () => Promise<Shrink>;
}

export async function runFetch(options: FetchOptions) {
  const folder = createMediaFolder(options.mediaDir);
  await folder.prepare();
  using report = createReport(options.out);
  for (;;) {
    const result = await runOnce(folder, report, options);
    if (result !== undefined) return result;
  }
}

/** Returns undefined if a takedown happened; the caller lists the originals again. */
async function runOnce(folder: MediaFolder, report: Report, options: FetchOptions) {
  const { database, mediaUrl, files, writer, signal } = options;
  using originals = createOriginals();
  const outcomes = createOutcomes(report.fault);
  const copies = createCopyFinder(folder, mediaUrl);
  const refuse = (url: string) => refusal(url, namedHosts(options));
  report.step('looking for pictures in records');
  const archive = await openArchive(database);
  const saver = createSaver(writer, await archive.takedownsMark(), copies.has);
  const scope = findScope(await archive.fetchStart(files), refuse, options.check);
  const quota = openQuota(folder, options.mediaQuota);
  try {
    const listing = { scope, copies, refuse, originals, outcomes };
    await listOriginals(archive.originals(files, scope.since), listing, signal).finally(archive.close);
    await saveListed(originals.found, copies.findByAddress, saver, signal);
    await saveListed(originals.refused, (url) => describeRefused(url, refuse), saver, signal);
    const run = createRun({ report, doing: 'fetching', noun: 'pictures', signal, total: originals.size() });
    const total = originals.size() + outcomes.counts.notNamed;
    const shrinker = createShrinker({ loadShrink, ...options, folder, quota, run, report });
    const receive = fileReceiver(folder, quota, files);

    const visit: Visit = async (url, fetchFile) => {
      if (refuse(url) === undefined) quota.refuseIfFull();
      const { entry, outcome } = await describeFetched(url, await fetchFile(url, receive), shrinker);
      outcomes.add(entry, outcome);
      if (!isAddressTooLong(url)) await saver.add(entry);
    };
    const fetchAll = async () => {
      await fetchOriginals(originals, run, options, visit);
      await saver.flush();
      // Before they are linked: pages change with what is linked.
      const parts = { database, writer, folder, report, shrinker, isEverything: isEverything(scope) };
      if (run.stopped() === undefined) await completeSmallPictures(parts);
      return run.stopped() === undefined;
    };
    const link = (isWhole: boolean) => {
      options.onLinking?.();
      report.step('linking the copies');
      return writer.finishFetch({ mediaUrl, files, whole: isWhole ? scope : undefined });
    };
    const relinked = await saveAndLink(fetchAll, saver, link);
    const [shrunk, stopped] = [shrinker.shrunk(), run.stopped()];
    const result = { originals: outcomes.counts, total, mediaUrl, relinked, shrunk, stopped };
    return describeFetch(result, isNoHostNamed(options) && outcomes.isAnyRefused());
  } catch (error) {
    if (!(error instanceof TakedownMade)) throw error;
    await removeUnsaved(saver.unsaved(), folder, (names) => writer.unknownFiles(names, mediaUrl));
    return undefined;
  }
}

/** However fetching ends, what was fetched is saved and linked. Returns how much that rebuilt. */
async function saveAndLink(
  fetchAll: () => Promise<boolean>,
  saver: Saver,
  link: (isWhole: boolean) => Promise<number>,
): Promise<number> {
  let isWhole = false;
  let relinked = 0;
  try {
    isWhole = await fetchAll();
  } finally {
    await saver.flush();
    relinked = await link(isWhole);
  }
  return relinked;
}

type FetchFile = ReturnType<typeof createFileClient>['fetch'];
type Visit = (url: string, fetchFile: FetchFile) => Promise<void>;

async function fetchOriginals(originals: Originals, run: Run, options: FetchOptions, visit: Visit) {
  const { signal } = run;
  using hosts = createHosts({ ...options, signal, userAgent: 'vitrine-media' });
  const client = createFileClient({ hosts, ...namedHosts(options), maxBytes: options.maxFile, signal });
  await run.each(originals.queues(), options.concurrency, async (url) => {
    try {
      await visit(url, client.fetch);
    } catch (error) {
      if (!(error instanceof OutputError)) throw error;
      run.stop(`given up: ${error.message}`);
    }
  });
}

const namedHosts = ({ sites, mediaHosts }: FetchOptions) => ({
  sites,
  named: mediaHosts,
  option: HOSTS_OPTION,
});

const isNoHostNamed = ({ sites, mediaHosts }: FetchOptions) => sites.length + mediaHosts.length === 0;

interface FetchedOriginal {
  readonly entry: OriginalState;
  readonly outcome: FetchOutcome;
}

async function describeFetched(
  url: string,
  fetched: FileResult<ReceivedFile>,
  shrinker: Shrinker,
): Promise<FetchedOriginal> {
  const received = 'body' in fetched ? fetched.body : fetched;
  if (!('reason' in received)) {
    const { file, bytes, isNew } = received;
    // Now, so that a run that is stopped has them. What lay there already is measured at the end, once for all its addresses.
    const facts = isNew ? await shrinker.measure({ file, url, bytes, failedDecodes: 0 }) : undefined;
    return { entry: { url, file, bytes, reason: null, facts }, outcome: 'fetched' };
  }
  const { reason, kind } = received;
  return { entry: { url, file: null, bytes: 0, reason }, outcome: kind === 'passing' ? 'failed' : kind };
}

/** Removes fetched files that the database does not know: their records may have been taken down. */
async function removeUnsaved(
  unsaved: readonly OriginalState[],
  folder: MediaFolder,
  findUnknown: (names: readonly string[]) => Promise<readonly string[]>,
): Promise<void> {
  for (const name of await findUnknown(unsaved.flatMap(({ file }) => file ?? []))) await folder.remove(name);
}
