// Looks after copies. A check finds those that are missing, or whose bytes do not have the hash that is their name; pruning
// removes those that no record names any more.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Terminal } from '../files/terminal.ts';
import { brief } from '../records/printable.ts';
import { createRun, createRunReport } from '../runs/each.ts';
import type { Archive } from '../stores/archive.ts';
import type { MediaEntry } from '../stores/media.ts';
import type { Writer } from '../stores/writer.ts';
import { createMediaFolder, type MediaFolder } from './folder.ts';

interface CheckOptions {
  readonly mediaDir: string;
  readonly archive: Archive;
  /** Whether only sizes are looked at. */
  readonly quick: boolean;
  readonly removeDamaged: boolean;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

const LONGEST_SHOWN = 120;

export async function runCheck({ archive, mediaDir, quick, removeDamaged, out, signal }: CheckOptions) {
  const folder = createMediaFolder(mediaDir);
  using report = createRunReport(out, 'checking', 'files');
  const { files } = await archive.mediaSummary();
  const counts = { files, sound: 0, missing: 0, damaged: 0, removed: 0 };
  const run = createRun({ report, signal, total: files });
  await run.each([archive.copies()], 1, async (copy) => {
    const file = copy.file as string;
    const state = await checkCopy(folder, file, copy, quick);
    counts[state]++;
    if (state === 'sound') return;
    report.fault(`${file} is ${state}: the copy of ${brief(copy.url, LONGEST_SHOWN)}`);
    if (state === 'damaged' && removeDamaged && (await folder.remove(file))) counts.removed++;
  });
  return counts;
}

async function checkCopy(folder: MediaFolder, file: string, { bytes }: MediaEntry, quick: boolean) {
  const size = folder.readSize(file);
  if (size === undefined) return 'missing';
  if (size !== bytes) return 'damaged';
  return quick || file.startsWith(`${await hashFile(folder.findPlace(file))}.`) ? 'sound' : 'damaged';
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}

interface PruneOptions {
  readonly mediaDir: string;
  /** How long nothing has named what is removed, in seconds. */
  readonly grace: number;
  readonly writer: Pick<Writer, 'pruneMedia' | 'unknownFiles'>;
  readonly signal: AbortSignal;
}

/** First the database forgets them, then their files go. */
export async function runPrune({ mediaDir, grace, writer, signal }: PruneOptions) {
  const pruned = await writer.pruneMedia(grace);
  const folder = createMediaFolder(mediaDir);
  const removed = { files: 0, bytes: 0 };
  // A younger file may be that of a fetch which has not told the database yet.
  const before = Date.now() - grace * 1000;
  for (const page of folder.pages()) {
    if (signal.aborted) break;
    const old = page.filter(({ changed }) => changed <= before);
    const unknown = new Set(await writer.unknownFiles(old.map(({ name }) => name)));
    for (const { name, bytes } of old.filter((file) => unknown.has(file.name))) {
      // A fetch that meets the same bytes again sets the time of the file.
      if (!(await folder.remove(name, before))) continue;
      removed.files++;
      removed.bytes += bytes;
    }
  }
  return { ...pruned, ...removed, isStopped: signal.aborted };
}
