// Checks the folder against the store: every copy is there, and its bytes have the hash that is its name.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Terminal } from '../files/terminal.ts';
import { brief } from '../records/printable.ts';
import { createRun, createRunReport } from '../runs/each.ts';
import type { Archive } from '../stores/archive.ts';
import type { MediaEntry } from '../stores/media.ts';
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
