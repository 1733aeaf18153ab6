// The fetch command: finds out what is to be fetched, fetches it, and says how it went.
import { createFileClient } from '../remote/file-client.ts';
import { createRunReport, type RunReport } from '../runs/report.ts';
import { type Connection, openScratch } from '../stores/sqlite/connect.ts';
import { createByteLimits } from './byte-limits.ts';
import { fetchOriginals } from './fetch.ts';
import { fetchFailure, fetchSummary } from './fetch-report.ts';
import type { FetchOutcome, FetchRun } from './fetch-run.ts';
import { createMediaFolder, type MediaFolder } from './folder.ts';
import { createOriginals, hostOf, type Originals, originalsIn } from './originals.ts';
import { createOutcomes, HOSTS_OPTION } from './outcomes.ts';
import { placeholderReason } from './receive-file.ts';
import { createSaver, type Saver, TakedownMade } from './saver.ts';

export async function runFetch(run: FetchRun): Promise<FetchOutcome> {
  for (;;)
    try {
      return await runOnce(run);
    } catch (error) {
      // What was taken down is not in the new list.
      if (!(error instanceof TakedownMade)) throw error;
    }
}

async function runOnce(run: FetchRun): Promise<FetchOutcome> {
  const folder = createMediaFolder(run.mediaDir);
  await folder.prepare();
  const scratch = openScratch();
  const report = createRunReport(run.out, 'fetching', 'pictures');
  try {
    return await runWith(run, folder, scratch, report);
  } finally {
    report.close();
    scratch.close();
  }
}

async function runWith(
  run: FetchRun,
  folder: MediaFolder,
  scratch: Connection,
  report: RunReport,
): Promise<FetchOutcome> {
  const originals = createOriginals(scratch);
  const limits = createByteLimits(run);
  const placeholders = new Set(run.placeholder);
  const mark = await listOriginals(run, originals, placeholders);
  for await (const file of folder.files()) {
    originals.addFile(file);
    limits.addHeld(file.bytes);
  }
  const saver = createSaver(run.writer, mark);
  try {
    return await fetchListed(run, { originals, limits, placeholders, folder, saver, report });
  } catch (error) {
    if (error instanceof TakedownMade) await removeUnsaved(run, folder, saver);
    throw error;
  }
}

interface Listed {
  readonly originals: Originals;
  readonly limits: ReturnType<typeof createByteLimits>;
  readonly placeholders: ReadonlySet<string>;
  readonly folder: MediaFolder;
  readonly saver: Saver;
  readonly report: RunReport;
}

async function fetchListed(
  run: FetchRun,
  { originals, limits, placeholders, folder, saver, report }: Listed,
): Promise<FetchOutcome> {
  const outcomes = createOutcomes(report.fault);
  for (const entry of originals.addCopies()) await saver.add(entry);
  for (const sha256 of run.placeholder) {
    for (const entry of originals.refuse(sha256, placeholderReason(sha256))) {
      outcomes.add(entry);
      await saver.add(entry);
    }
  }
  const present = originals.removePresent();
  for (const { url, bytes } of originals.present()) limits.addOfHost(hostOf(url), bytes);

  const total = originals.size();
  const ended = await fetchAll(run, {
    ...{ folder, originals, limits, saver, outcomes, placeholders, files: run.files },
    onProgress: (done) => report.progress({ done, total, skipped: 0 }),
  });
  outcomes.tellHosts();
  const result = {
    ...{ originals: { ...outcomes.counts, present }, ...ended, total, mediaUrl: run.mediaUrl },
    likelyPlaceholders: await likelyPlaceholders(run),
  };
  return { summary: fetchSummary(result), result, failure: fetchFailure(result, run) };
}

async function likelyPlaceholders({ openArchive }: FetchRun) {
  const archive = await openArchive();
  try {
    return (await archive.mediaSummary()).likelyPlaceholders;
  } finally {
    await archive.close();
  }
}

/** Removes files that no record names any more, perhaps, and the database does not know. */
async function removeUnsaved({ writer }: FetchRun, folder: MediaFolder, saver: Saver): Promise<void> {
  const names = saver.unsaved().flatMap(({ file }) => file ?? []);
  for (const name of await writer.unknownFiles(names)) await folder.remove(name);
}

/** Fills the list with what records name, and with what became of it in earlier runs; the mark of the takedowns. */
async function listOriginals(
  { openArchive, files, mediaUrl, notPlaceholder }: FetchRun,
  originals: Originals,
  placeholders: Set<string>,
): Promise<string> {
  const archive = await openArchive();
  try {
    for await (const record of archive.records())
      for (const url of originalsIn(record, files))
        if (url.startsWith(`${mediaUrl}/`)) originals.addCopy(url, url.slice(mediaUrl.length + 1));
        else originals.addWanted(url);
    for await (const entry of archive.media()) {
      originals.addKnown(entry);
      const [, sha256] = /^placeholder ([0-9a-f]{64})$/.exec(entry.reason ?? '') ?? [];
      if (sha256 !== undefined) placeholders.add(sha256);
    }
    for (const sha256 of notPlaceholder) placeholders.delete(sha256);
    return await archive.takedownsMark();
  } finally {
    await archive.close();
  }
}

type Prepared = Omit<Parameters<typeof fetchOriginals>[0], 'client' | 'concurrency' | 'signal' | 'stop'>;

/** Whatever ends the fetch, what it has brought is saved and served. */
async function fetchAll(
  run: FetchRun,
  prepared: Prepared,
): Promise<{ stopped: string | undefined; relinked: number }> {
  const end = new AbortController();
  const signal = AbortSignal.any([run.signal, end.signal]);
  const client = createFileClient({
    ...run,
    sites: run.sites.map((base) => ({ base })),
    hosts: run.mediaHosts,
    hostsOption: HOSTS_OPTION,
    userAgent: 'vitrine-media',
    accept: 'image/*, */*;q=0.5',
    maxBytes: run.maxFile,
    timeout: run.timeout * 1000,
    signal,
  });
  let failure: unknown;
  let stopped: string | undefined;
  try {
    stopped = await fetchOriginals({ ...run, ...prepared, client, signal, stop: () => end.abort() });
  } catch (error) {
    failure = error;
  } finally {
    client.close();
  }
  try {
    await prepared.saver.flush();
    const relinked = await run.writer.relink(run.mediaUrl);
    if (failure === undefined) return { stopped, relinked };
  } catch (error) {
    failure ??= error;
  }
  throw failure;
}
