// The fetch command: lists the originals that changed records name, fetches those that have no copy, makes small pictures of each,
// and links the copies.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createReport, type Report, type Terminal } from '../../import/terminal.ts';
import { brief, counted, joinReasons } from '../../records/printable.ts';
import { createMediaFolder, type MediaFolder } from '../../stores/media-folder.ts';
import { openArchive } from '../../stores/open.ts';
import { OutputError } from '../../stores/output.ts';
import type { Archive } from '../../stores/sql/archive.ts';
import type { FetchStart } from '../../stores/sql/fetches.ts';
import type { OriginalState } from '../../stores/sql/media.ts';
import type { Writer } from '../../stores/writer.ts';
import { createRun, type Run } from '../remote/each.ts';
import { createFileClient, isAddressTooLong, refusal } from '../remote/file-client.ts';
import { createHosts, type HostFlags } from '../remote/host.ts';
import { createOriginals, createSaver, type Originals, type Saver, TakedownMade } from './originals.ts';
import { openQuota, type Quota } from './quota.ts';
import { fileReceiver } from './receive.ts';
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

/** A run of the command. */
interface Fetch {
  readonly options: FetchOptions;
  readonly folder: MediaFolder;
  readonly originals: Originals;
  readonly scope: Scope;
  readonly quota: Quota;
  readonly outcomes: Outcomes;
  readonly saver: Saver;
  readonly run: Run;
  readonly report: Report;
  readonly shrinker: Shrinker;
}

/** Returns undefined if a takedown happened; the caller lists the originals again. */
async function runOnce(folder: MediaFolder, report: Report, options: FetchOptions) {
  const { mediaUrl, mediaHosts, sites, signal } = options;
  using originals = createOriginals();
  report.step('looking for pictures in records');
  const archive = await openArchive(options.database);
  const hasFile = (name: string) => folder.readSize(name) !== undefined;
  const saver = createSaver(options.writer, await archive.takedownsMark(), hasFile);
  const scope = findScope(await archive.fetchStart(options.files), options);
  const quota = openQuota(folder, options.mediaQuota);
  const outcomes = createOutcomes(report.fault);
  const listing = { options, folder, originals, scope, quota, outcomes, saver };
  try {
    await listOriginals(listing, archive).finally(archive.close);
    await saveFound(listing);
    await saveRefused(listing);
    const run = createRun({ report, doing: 'fetching', noun: 'pictures', signal, total: originals.size() });
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
    return describeFetch(result, mediaHosts.length + sites.length === 0 && outcomes.isAnyRefused());
  } catch (error) {
    if (!(error instanceof TakedownMade)) throw error;
    await removeUnsaved(listing);
    return undefined;
  }
}

/** What a run looks at. */
interface Scope extends FetchStart {
  /** The hosts that were refused before and are named now. */
  readonly asked: readonly string[];
}

/** Which users name a refused address is not known: if its host is named now, all users are looked at. */
function findScope(start: FetchStart, options: FetchOptions): Scope {
  const asked = start.refused.filter((host) => refusal(host, namedHosts(options)) === undefined);
  return { ...start, asked, since: options.check || asked.length > 0 ? undefined : start.since };
}

const isEverything = ({ since }: Scope) => since === undefined;

type Listing = Omit<Fetch, 'run' | 'report' | 'shrinker'>;

/** Between them other work has its turn, such as a signal. */
const ORIGINALS_AT_ONCE = 1000;

/** Fills the list with what has no copy. */
async function listOriginals(listing: Listing, archive: Archive): Promise<void> {
  const { options, originals, scope, outcomes } = listing;
  for (const host of scope.refused) {
    const refused = refusal(host, namedHosts(options));
    if (refused !== undefined) outcomes.reportRefused(refused.reason);
  }
  let listed = 0;
  for await (const entry of archive.originals(options.files, scope.since)) {
    if (++listed % ORIGINALS_AT_ONCE === 0) {
      await nextTurn();
      if (options.signal.aborted) return;
    }
    if (!isEverything(scope) && !originals.isNew(entry.url)) continue;
    const copy = findCopy(entry, listing);
    if (copy !== undefined) {
      if (copy !== entry) originals.found.add(entry.url);
      outcomes.counts.present++;
    } else if (!isCopyAddress(entry.url, options)) wantOrRefuse(entry, listing);
  }
}

function wantOrRefuse({ url, refused: before }: OriginalState, { options, originals, outcomes }: Listing) {
  const refused = refusal(url, namedHosts(options));
  if (refused?.kind !== 'notNamed') return originals.want(url);
  outcomes.counts.notNamed++;
  // It is saved already. There may be as many as records.
  if (before !== undefined) return;
  outcomes.reportRefused(refused.reason);
  originals.refused.add(url);
}

/** After the records are read: SQLite's log is not emptied while they are, and each save would wait for that. */
async function saveFound(listing: Listing): Promise<void> {
  for (const urls of listing.originals.found.pages()) {
    if (listing.options.signal.aborted) return;
    await listing.saver.addAll(urls.flatMap((url) => findByAddress(url, listing) ?? []));
    await nextTurn();
  }
}

async function saveRefused({ options, originals, saver }: Listing): Promise<void> {
  for (const urls of originals.refused.pages()) {
    if (options.signal.aborted) return;
    await saver.addAll(urls.map((url) => describeRefused(url, options)));
    await nextTurn();
  }
}

function describeRefused(url: string, options: FetchOptions): OriginalState {
  const reason = refusal(url, namedHosts(options))?.reason ?? null;
  return { url, file: null, bytes: 0, reason, refused: new URL(url).origin };
}

/** The entry of an original that has its copy, which is looked for in the folder if everything is looked at. */
function findCopy(entry: OriginalState, listing: Listing): OriginalState | undefined {
  const { folder, scope } = listing;
  const { url, file } = entry;
  if (file !== null && (!isEverything(scope) || folder.readSize(file) === entry.bytes)) return entry;
  return findByAddress(url, listing);
}

/** The entry of a copy that a record names by its own address, as in what `export --media-urls` writes. */
function findByAddress(url: string, { folder, options }: Listing): OriginalState | undefined {
  if (!isCopyAddress(url, options)) return undefined;
  const name = url.slice(options.mediaUrl.length + 1);
  const bytes = folder.readSize(name);
  return bytes === undefined ? undefined : { url, file: name, bytes, reason: null };
}

/** If it is not here, an address of a copy leads nowhere. */
const isCopyAddress = (url: string, { mediaUrl }: FetchOptions) => url.startsWith(`${mediaUrl}/`);

/** Fetches all originals. However that ends, what was fetched is saved and linked. Returns how much was rebuilt. */
async function fetchAndLink(fetch: Fetch): Promise<number> {
  const { options, scope, saver, run } = fetch;
  let isWhole = false;
  let relinked = 0;
  try {
    await fetchOriginals(fetch);
    await saver.flush();
    // Before they are linked: pages change with what is linked.
    if (run.stopped() === undefined)
      await completeSmallPictures({ ...fetch, isEverything: isEverything(scope) });
    isWhole = run.stopped() === undefined;
  } finally {
    await saver.flush();
    options.onLinking?.();
    fetch.report.step('linking the copies');
    const whole = isWhole ? scope : undefined;
    relinked = await options.writer.finishFetch({ ...options, whole });
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
  if (refusal(url, namedHosts(fetch.options)) === undefined) fetch.quota.refuseIfFull();
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
  for (const name of await options.writer.unknownFiles(names, options.mediaUrl)) await folder.remove(name);
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

  /** Once for each host: the lines of its pictures would hide all others. */
  function reportRefused(reason: string): void {
    const line = brief(reason, LONGEST_SHOWN);
    if (!reported.has(line)) onFault(line);
    reported.add(line);
  }

  return {
    counts,
    reportRefused,
    /** Whether a host was not named, in this run or before. */
    isAnyRefused: () => reported.size > 0,
    add(entry: OriginalState, outcome: FetchOutcome): void {
      counts[outcome]++;
      if (outcome === 'fetched') return;
      const reason = entry.reason ?? '';
      if (outcome === 'notNamed') reportRefused(reason);
      else onFault(`${brief(entry.url, LONGEST_SHOWN)}: ${brief(reason, LONGEST_SHOWN)}`);
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

/** `lacksHosts`: no host may be asked, and one was to be asked. */
function describeFetch(result: FetchResult, lacksHosts: boolean) {
  const { originals, total, mediaUrl, relinked, shrunk, stopped } = result;
  const { fetched, present, gone, notNamed, failed } = originals;
  const counts = [`${fetched} fetched`, `${present} already here`, `${gone} gone`, `${failed} failed`];
  if (notNamed > 0) counts.push(`${notNamed} on hosts that are not named`);
  const small = shrunk > 0 ? `\nsmall pictures made of ${counted(shrunk, 'picture')}` : '';
  const linked = `copies are named under ${mediaUrl} (profiles and lists rebuilt: ${relinked})`;
  return {
    summary: `pictures: ${counts.join(', ')}${fetched + present + relinked > 0 ? `\n${linked}` : ''}${small}`,
    result,
    failure: joinReasons(
      stopped !== undefined && `${stopped}; the same command continues where this run ended`,
      lacksHosts && `no host may be asked: name hosts with ${HOSTS_OPTION}`,
      failed > 0 && `${failed} of ${counted(total + present, 'picture')} failed`,
    ),
  };
}
