// Looks after copies. A check finds those that are missing, or have bytes of another hash than their name; pruning
// removes those that no record names any more.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createReport, type Terminal } from '../../import/terminal.ts';
import { copyHash, smallName } from '../../records/copy-files.ts';
import { brief, counted } from '../../records/printable.ts';
import { createMediaFolder, isCopy, type MediaFolder, type StoredFile } from '../../stores/media-folder.ts';
import { openArchive } from '../../stores/open.ts';
import type { Copy } from '../../stores/sql/media.ts';
import type { Writer } from '../../stores/writer.ts';
import { createRun } from '../remote/each.ts';
import { listCopies } from './list-copies.ts';
import { isDue } from './small-pictures.ts';

interface CheckOptions {
  readonly mediaDir: string;
  readonly database: string;
  readonly removeDamaged: boolean;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

const LONGEST_SHOWN = 120;

export async function runCheck({ database, mediaDir, removeDamaged, out, signal }: CheckOptions) {
  const folder = createMediaFolder(mediaDir);
  using report = createReport(out);
  const files = await countFiles(database);
  const counts = { files, sound: 0, missing: 0, damaged: 0, removed: 0, unmeasured: 0 };
  const run = createRun({ report, doing: 'checking', noun: 'files', signal, total: files });
  await run.each([listCopies(database)], 1, async (copy) => {
    const [state, file] = await checkCopy(folder, copy);
    counts[state]++;
    if (state === 'sound') {
      if (isDue(copy)) counts.unmeasured++;
      return;
    }
    report.fault(`${file} is ${state}: the copy of ${brief(copy.url, LONGEST_SHOWN)}`);
    if (state === 'damaged' && removeDamaged && (await folder.remove(file))) counts.removed++;
  });
  return counts;
}

async function countFiles(database: string): Promise<number> {
  await using archive = await openArchive(database);
  return (await archive.mediaSummary()).files;
}

/** The state of a copy with its small pictures, and which of them that is about. */
async function checkCopy(
  folder: MediaFolder,
  { file, small }: Copy,
): Promise<['sound' | 'missing' | 'damaged', file: string]> {
  const files = [{ name: file, hash: copyHash(file) }];
  for (const { width, hash = '' } of small) files.push({ name: smallName(file, width), hash });
  for (const { name, hash } of files) {
    const found = await folder.hash(name);
    if (found === undefined) return ['missing', name];
    if (!found.startsWith(hash)) return ['damaged', name];
  }
  return ['sound', file];
}

interface PruneOptions {
  readonly mediaDir: string;
  /** What records may name copies by. */
  readonly mediaUrl: string;
  /** Seconds a copy must be unreferenced before it is removed. */
  readonly grace: number;
  readonly writer: Pick<Writer, 'pruneCopies' | 'unknownFiles'>;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

/** First the database forgets them, then their files go. */
export async function runPrune({ mediaDir, mediaUrl, grace, writer, out, signal }: PruneOptions) {
  using report = createReport(out);
  const pruned = await writer.pruneCopies(grace, report.step);
  const folder = createMediaFolder(mediaDir);
  const removed = { files: 0, bytes: 0 };
  // A younger file may be that of a fetch which has not written to the database yet.
  const before = Date.now() - grace * 1000;
  for (const page of folder.pages()) {
    await nextTurn();
    if (signal.aborted) break;
    report.step('removing files', undefined, () => `${counted(removed.files, 'file')} so far`);
    const kept = await findKept(page, before, (names) => writer.unknownFiles(names, mediaUrl));
    for (const { name, bytes } of page) {
      // A fetch that meets the same bytes again sets the time of the file.
      if (kept.has(copyHash(name)) || !(await folder.removeOld(name, before))) continue;
      removed.files++;
      removed.bytes += bytes;
    }
  }
  return { ...pruned, ...removed, isStopped: signal.aborted };
}

/** The hashes of copies that stay, and with them their small pictures. */
async function findKept(
  page: readonly StoredFile[],
  before: number,
  listUnknown: (names: readonly string[]) => Promise<string[]>,
): Promise<ReadonlySet<string>> {
  const copies = page.filter(({ name }) => isCopy(name));
  const old = copies.filter(({ changed }) => changed <= before).map(({ name }) => name);
  const unknown = new Set(await listUnknown(old));
  return new Set(
    copies
      .map(({ name }) => name)
      .filter((name) => !unknown.has(name))
      .map(copyHash),
  );
}
