// The fetch command: lists the originals that records name, fetches those that have no copy here, makes small pictures of each,
// and links the copies.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Terminal } from '../../import/terminal.ts';
import { brief, counted, joinReasons } from '../../records/printable.ts';
import { openArchive } from '../../stores/open.ts';
import { OutputError } from '../../stores/output.ts';
import type { Archive } from '../../stores/sql/archive.ts';
import type { OriginalState } from '../../stores/sql/media.ts';
import { UNKNOWN_SIZE } from '../../stores/steps.ts';
import type { Writer } from '../../stores/writer.ts';
import { createRun, type Run } from '../remote/each.ts';
import { createFileClient, isAddressTooLong, refusal } from '../remote/file-client.ts';
import { createHosts, type HostFlags } from '../remote/host.ts';
import { createRunReport, type RunReport } from '../remote/run-report.ts';
import { createMediaFolder, type MediaFolder } from './folder.ts';
import { createOriginals, createSaver, type Originals, type Saver, TakedownMade } from './originals.ts';
import { fileReceiver, QuotaReached } from './receive.ts';
import { loadShrink, type Shrink } from './shrink.ts';
import { completeSmallPictures, createShrinker, type Shrinker } from './small-pictures.ts';

export interface FetchOptions extends HostFlags {
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
  readonly writer: Pick<Writer, 'saveOriginals' | 'saveFacts' | 'relink' | 'unknownFiles'>;
  readonly out: Terminal;
  readonly signal: AbortSignal;
  /** Called before the copies are linked, which cannot be interrupted. */
  readonly onLinking?: () => void;
  readonly loadShrink?: () => Promise<Shrink>;
}

export async function runFetch(options: FetchOptions) {
  const folder = createMediaFolder(options.mediaDir);
  await folder.prepare();
  using report = createRunReport(options.out, 'fetching', 'pictures');
  for (;;) {
    const result = await runOnce(folder, report, options);
    if (result !== undefined) return result;
  }
}

/** A run of the command. */
interface Fetch {
  readonly options: FetchOptions;
  readonly folder: MediaFolder;
  readonly originals: Originals;
  readonly quota: { left: number };
  readonly outcomes: Outcomes;
  readonly saver: Saver;
  readonly run: Run;
  readonly report: RunReport;
  readonly shrinker: Shrinker;
}

/** Returns undefined if a takedown happened; the caller lists the originals again. */
async function runOnce(folder: MediaFolder, report: RunReport, options: FetchOptions) {
  const { mediaUrl, mediaHosts, sites, signal } = options;
  using originals = createOriginals();
  const archive = await openArchive(options.database);
  const saver = createSaver(options.writer, await archive.takedownsMark());
  const outcomes = createOutcomes(report.fault);
  const listing = { options, folder, originals, quota: { left: options.mediaQuota }, outcomes, saver };
  try {
    report.step('looking for pictures in records', UNKNOWN_SIZE);
    await listOriginals(listing, archive).finally(archive.close);
    const run = createRun({ report, signal, total: originals.size() });
    const total = originals.size() + outcomes.counts.notNamed;
    const shrinker = createShrinker({ loadShrink, ...options, ...listing, run, report });
    const relinked = await fetchAndLink({ ...listing, run, report, shrinker });
    const result = {
      originals: outcomes.counts,
      total,
      mediaUrl,
      relinked,
      shrunk: shrinker.shrunk(),
      stopped: run.stopped(),
    };
    return describeFetch(result, mediaHosts.length + sites.length > 0);
  } catch (error) {
    if (!(error instanceof TakedownMade)) throw error;
    await removeUnsaved(listing);
    return undefined;
  }
}

type Listing = Omit<Fetch, 'run' | 'report' | 'shrinker'>;

/** Between them other work has its turn, such as a signal. */
const ORIGINALS_AT_ONCE = 1000;

/** Fills the list with what has no copy in the folder. */
async function listOriginals(listing: Listing, archive: Archive): Promise<void> {
  const { options, folder, originals, quota, outcomes, saver } = listing;
  for (const page of folder.pages()) for (const { bytes } of page) quota.left -= bytes;
  let listed = 0;
  for await (const entry of archive.originals(options.files)) {
    if (++listed % ORIGINALS_AT_ONCE === 0) {
      await nextTurn();
      if (options.signal.aborted) return;
    }
    const copy = findCopy(entry, listing);
    if (copy !== undefined) {
      if (copy !== entry) await saver.add(copy);
      outcomes.counts.present++;
    } else if (!isCopyAddress(entry.url, options) && !isRefusedAgain(entry, listing))
      originals.want(entry.url);
  }
}

/** An address that may not be asked for, as before, has its reason in the database already. There may be as many as records. */
function isRefusedAgain(entry: OriginalState, { options, outcomes }: Listing): boolean {
  if (entry.reason === null) return false;
  const refused = refusal(entry.url, namedHosts(options));
  if (refused?.kind !== 'notNamed' || refused.reason !== entry.reason) return false;
  outcomes.add(entry, 'notNamed');
  return true;
}

/** The entry of an original that has its copy in the folder. */
function findCopy(entry: OriginalState, { folder, options }: Listing): OriginalState | undefined {
  const { url, file } = entry;
  if (file !== null && folder.readSize(file) === entry.bytes) return entry;
  if (!isCopyAddress(url, options)) return undefined;
  // As in what `export --media-urls` writes.
  const name = url.slice(options.mediaUrl.length + 1);
  const bytes = folder.readSize(name);
  return bytes === undefined ? undefined : { url, file: name, bytes, reason: null };
}

/** If it is not here, an address of a copy leads nowhere. */
const isCopyAddress = (url: string, { mediaUrl }: FetchOptions) => url.startsWith(`${mediaUrl}/`);

/** Fetches all originals. However that ends, what was fetched is saved and linked. Returns how much was rebuilt. */
async function fetchAndLink(fetch: Fetch): Promise<number> {
  const { options, outcomes, saver, run } = fetch;
  let relinked = 0;
  try {
    await fetchOriginals(fetch);
    await saver.flush();
    // Before they are linked: pages change with what is linked.
    if (run.stopped() === undefined) await completeSmallPictures(fetch);
  } finally {
    await saver.flush();
    const { fetched, present } = outcomes.counts;
    if (fetched + present > 0) {
      options.onLinking?.();
      fetch.report.step('linking the copies', UNKNOWN_SIZE);
      relinked = await options.writer.relink(options.mediaUrl);
    }
  }
  return relinked;
}

async function fetchOriginals(fetch: Fetch): Promise<void> {
  const { options, originals, outcomes, saver, run } = fetch;
  using hosts = createHosts({ ...options, signal: run.signal, userAgent: 'vitrine-media' });
  const client = createFileClient({
    hosts,
    ...namedHosts(options),
    maxBytes: options.maxFile,
    signal: run.signal,
  });
  await run.each(originals.queues(), options.concurrency, async (url) => {
    try {
      const { entry, outcome } = await fetchOriginal(url, client.fetch, fetch);
      outcomes.add(entry, outcome);
      if (!isAddressTooLong(url)) await saver.add(entry);
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

type FetchFile = ReturnType<typeof createFileClient>['fetch'];

interface FetchedOriginal {
  readonly entry: OriginalState;
  readonly outcome: FetchOutcome;
}

async function fetchOriginal(url: string, fetchFile: FetchFile, fetch: Fetch): Promise<FetchedOriginal> {
  if (fetch.quota.left <= 0 && refusal(url, namedHosts(fetch.options)) === undefined)
    throw new QuotaReached();
  const fetched = await fetchFile(url, fileReceiver(fetch));
  const received = 'body' in fetched ? fetched.body : fetched;
  if (!('reason' in received)) {
    const { file, bytes, isNew } = received;
    // Now, so that a run that is stopped has them. What lay there already is measured at the end, once for all its addresses.
    const facts = isNew ? await fetch.shrinker.measure({ file, url, bytes, failedDecodes: 0 }) : undefined;
    return { entry: { url, file, bytes, reason: null, facts }, outcome: 'fetched' };
  }
  const { reason, kind } = received;
  return { entry: { url, file: null, bytes: 0, reason }, outcome: kind === 'passing' ? 'failed' : kind };
}

/** Removes fetched files that the database does not know: their records may have been taken down. */
async function removeUnsaved({ options, folder, saver }: Listing): Promise<void> {
  const names = saver.unsaved().flatMap(({ file }) => file ?? []);
  for (const name of await options.writer.unknownFiles(names)) await folder.remove(name);
}

// What becomes of originals: counts it, reports each failure, and sums it up.

/** The option that names hosts. */
const HOSTS_OPTION = '--media-hosts';
const LONGEST_SHOWN = 120;

/** `gone`: the host says that there is no such file. `notNamed`: its host may not be asked. */
type FetchOutcome = 'fetched' | 'gone' | 'notNamed' | 'failed';

type Outcomes = ReturnType<typeof createOutcomes>;

function createOutcomes(onFault: (line: string) => void) {
  const counts = { fetched: 0, present: 0, gone: 0, notNamed: 0, failed: 0 };
  const reported = new Set<string>();

  return {
    counts,
    add(entry: OriginalState, outcome: FetchOutcome): void {
      counts[outcome]++;
      if (outcome === 'fetched') return;
      const reason = brief(entry.reason, LONGEST_SHOWN);
      // Once for each host: the lines of its pictures would hide all others.
      const line = outcome === 'notNamed' ? reason : `${brief(entry.url, LONGEST_SHOWN)}: ${reason}`;
      if (outcome !== 'notNamed' || !reported.has(line)) onFault(line);
      if (outcome === 'notNamed') reported.add(line);
    },
  };
}

export interface FetchResult {
  readonly originals: Outcomes['counts'];
  /** How many were to be fetched. */
  readonly total: number;
  /** What copies are linked with. */
  readonly mediaUrl: string;
  /** How many profiles and lists of items name other addresses now. */
  readonly relinked: number;
  /** Of how many copies small pictures were made. */
  readonly shrunk: number;
  /** Why the run ended before the last original; undefined if it did not. */
  readonly stopped: string | undefined;
}

/** `isAnyHostNamed`: a host may be asked. */
function describeFetch(result: FetchResult, isAnyHostNamed: boolean) {
  const { originals, total, mediaUrl, relinked, shrunk, stopped } = result;
  const { fetched, present, gone, notNamed, failed } = originals;
  const counts = [`${fetched} fetched`, `${present} already here`, `${gone} gone`, `${failed} failed`];
  if (notNamed > 0) counts.push(`${notNamed} on hosts that are not named`);
  const small = shrunk > 0 ? `\nsmall files made of ${counted(shrunk, 'picture')}` : '';
  const linked = `copies are named under ${mediaUrl} (profiles and lists rebuilt: ${relinked})`;
  return {
    summary: `pictures: ${counts.join(', ')}${fetched + present > 0 ? `\n${linked}` : ''}${small}`,
    result,
    failure: joinReasons(
      stopped !== undefined && `${stopped}; the same command continues where this run ended`,
      !isAnyHostNamed && notNamed > 0 && `no host may be asked: name hosts with ${HOSTS_OPTION}`,
      failed > 0 && `${failed} of ${counted(total + present, 'picture')} failed`,
    ),
  };
}
