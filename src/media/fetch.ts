// The fetch command: lists the originals that records name, fetches those that have no copy here, and links the copies.
import type { Terminal } from '../files/terminal.ts';
import { createFileClient, type FileClient, isTooLong } from '../remote/file-client.ts';
import { createHosts, type HostFlags } from '../remote/host.ts';
import { createRun, createRunReport, type Run, type RunReport } from '../runs/each.ts';
import type { Archive } from '../stores/archive.ts';
import type { MediaEntry } from '../stores/media.ts';
import type { StoreHandle } from '../stores/open.ts';
import type { Writer } from '../stores/writer.ts';
import { createMediaFolder, type MediaFolder } from './folder.ts';
import { createOriginals, createSaver, type Originals, type Saver, TakedownMade } from './originals.ts';
import { fileReceiver, placeholderReason, QuotaReached } from './receive.ts';
import { createOutcomes, describeFetch, HOSTS_OPTION, type Outcomes } from './report.ts';

/** The flags of the command that are passed on as they are. */
export interface FetchFlags extends HostFlags {
  /** Whether attachments and audio are fetched as well. */
  readonly files: boolean;
  readonly maxFile: number;
  /** How many bytes the folder may hold. */
  readonly mediaQuota: number;
  /** Hosts that may be asked. */
  readonly mediaHosts: readonly string[];
  /** Hashes of pictures to refuse. */
  readonly placeholder: readonly string[];
}

export interface FetchOptions extends FetchFlags {
  /** Sites that may be asked whatever their addresses are. */
  readonly sites: readonly URL[];
  readonly mediaDir: string;
  /** What records name copies by. */
  readonly mediaUrl: string;
  readonly openArchive: () => Promise<StoreHandle<Archive>>;
  readonly writer: Pick<Writer, 'saveMedia' | 'relink' | 'unknownFiles'>;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

export async function runFetch(options: FetchOptions) {
  const folder = createMediaFolder(options.mediaDir);
  await folder.prepare();
  using report = createRunReport(options.out, 'fetching', 'pictures');
  for (;;) {
    const outcome = await runOnce(folder, report, options);
    if (outcome !== undefined) return outcome;
  }
}

/** What the steps of a run share. */
interface Fetch extends FetchOptions {
  readonly folder: MediaFolder;
  readonly originals: Originals;
  readonly placeholders: ReadonlySet<string>;
  readonly quota: { left: number };
  readonly outcomes: Outcomes;
  readonly saver: Saver;
}

/** Undefined if somebody was taken down meanwhile: what was taken down is not in the next list of originals. */
async function runOnce(folder: MediaFolder, report: RunReport, options: FetchOptions) {
  const { mediaUrl, mediaHosts, sites, signal } = options;
  using originals = createOriginals();
  const archive = await options.openArchive();
  const outcomes = createOutcomes(report.fault);
  const fetch: Fetch = {
    ...options,
    folder,
    originals,
    placeholders: new Set(options.placeholder),
    quota: { left: options.mediaQuota },
    outcomes,
    saver: createSaver(options.writer, await archive.takedownsMark()),
  };
  try {
    await listOriginals(fetch, archive).finally(archive.close);
    const total = originals.size();
    const run = createRun({ report, signal, total });
    const relinked = await fetchAndLink(fetch, run);
    const result = { originals: outcomes.counts, total, mediaUrl, relinked, stopped: run.stopped() };
    return describeFetch(result, mediaHosts.length + sites.length > 0);
  } catch (error) {
    if (!(error instanceof TakedownMade)) throw error;
    await removeUnsaved(fetch);
    return undefined;
  }
}

/** Fills the list with what has no copy in the folder. */
async function listOriginals(fetch: Fetch, archive: Archive): Promise<void> {
  const { folder, originals, quota, files, outcomes, saver } = fetch;
  for (const page of folder.pages()) for (const { bytes } of page) quota.left -= bytes;
  for await (const entry of archive.originals(files)) {
    const refused = refusePlaceholder(entry, fetch);
    const copy = refused ?? findCopy(entry, fetch);
    if (copy !== undefined) {
      if (copy !== entry) await saver.add(copy);
      if (copy === refused) outcomes.add(copy);
      else outcomes.counts.present++;
    } else if (!isCopyAddress(entry.url, fetch)) originals.want(entry.url);
  }
}

/** The new entry of an original if its copy is a placeholder. */
function refusePlaceholder(
  { url, file, reason }: MediaEntry,
  { placeholders }: Fetch,
): MediaEntry | undefined {
  const [, sha256 = ''] = /^(?:placeholder )?([0-9a-f]{64})\b/.exec(file ?? reason ?? '') ?? [];
  return placeholders.has(sha256)
    ? { url, file: null, bytes: 0, reason: placeholderReason(sha256) }
    : undefined;
}

/** The entry of an original whose copy is in the folder. */
function findCopy(entry: MediaEntry, fetch: Fetch): MediaEntry | undefined {
  const { folder, mediaUrl } = fetch;
  const { url, file } = entry;
  if (file !== null && folder.readSize(file) === entry.bytes) return entry;
  if (!isCopyAddress(url, fetch)) return undefined;
  // As in what `export --media-urls` writes.
  const name = url.slice(mediaUrl.length + 1);
  const bytes = folder.readSize(name);
  return bytes === undefined ? undefined : { url, file: name, bytes, reason: null };
}

/** If it is not here, an address of a copy leads nowhere. */
const isCopyAddress = (url: string, { mediaUrl }: Fetch) => url.startsWith(`${mediaUrl}/`);

/** Fetches all originals. However that ends, what was fetched is saved and linked. */
async function fetchAndLink(fetch: Fetch, run: Run): Promise<number> {
  const { originals, outcomes, saver, writer, sites, concurrency } = fetch;
  using hosts = createHosts({ ...fetch, signal: run.signal, userAgent: 'vitrine-media' });
  const named = { named: fetch.mediaHosts, option: HOSTS_OPTION };
  const client = createFileClient({
    ...{ ...named, hosts, sites, maxBytes: fetch.maxFile, signal: run.signal },
  });
  let relinked = 0;
  try {
    await run.each(originals.queues(), concurrency, async (url) => {
      try {
        const entry = await fetchOriginal(url, client, fetch);
        outcomes.add(entry);
        if (!isTooLong(url)) await saver.add(entry);
      } catch (error) {
        if (!(error instanceof QuotaReached)) throw error;
        run.stop('given up: the copies take all of --media-quota');
      }
    });
  } finally {
    await saver.flush();
    const { fetched, placeholder, present } = outcomes.counts;
    if (fetched + placeholder + present > 0) relinked = await writer.relink(fetch.mediaUrl);
  }
  return relinked;
}

/** What became of an original. */
async function fetchOriginal(url: string, client: FileClient, fetch: Fetch): Promise<MediaEntry> {
  if (client.refusal(url) === undefined && fetch.quota.left <= 0) throw new QuotaReached();
  const fetched = await client.fetch(url, fileReceiver(fetch));
  const received = 'body' in fetched ? fetched.body : fetched;
  return 'reason' in received
    ? { url, file: null, bytes: 0, reason: received.reason }
    : { url, ...received, reason: null };
}

/** Removes fetched files that the database does not know: their records may have been taken down. */
async function removeUnsaved({ writer, folder, saver }: Fetch): Promise<void> {
  const names = saver.unsaved().flatMap(({ file }) => file ?? []);
  for (const name of await writer.unknownFiles(names)) await folder.remove(name);
}
