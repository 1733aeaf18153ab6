// Checks the folder against the store: every copy is there, and its bytes have the hash that is its name.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Terminal } from '../files/terminal.ts';
import { brief } from '../records/printable.ts';
import { createRunReport } from '../runs/report.ts';
import type { Archive } from '../stores/archive.ts';
import type { Awaitable } from '../stores/reader.ts';
import { createMediaFolder, type MediaFolder } from './folder.ts';

export interface CheckRun {
  readonly mediaDir: string;
  readonly openArchive: () => Awaitable<Archive>;
  /** Whether only sizes are looked at. */
  readonly quick: boolean;
  readonly removeDamaged: boolean;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

export interface CheckCounts {
  readonly files: number;
  sound: number;
  missing: number;
  damaged: number;
  removed: number;
}

const LONGEST_SHOWN = 120;

interface Copy {
  readonly url: string;
  readonly bytes: number;
}

export async function runCheck(run: CheckRun): Promise<CheckCounts> {
  const copies = await copiesIn(run);
  const folder = createMediaFolder(run.mediaDir);
  const report = createRunReport(run.out, 'checking', 'files');
  const counts = { files: copies.size, sound: 0, missing: 0, damaged: 0, removed: 0 };
  let done = 0;
  try {
    for (const [name, copy] of copies) {
      run.signal.throwIfAborted();
      const state = await stateOf(folder, name, copy, run);
      counts[state]++;
      if (state !== 'sound')
        report.fault(`${name} is ${state}: the copy of ${brief(copy.url, LONGEST_SHOWN)}`);
      if (state === 'damaged' && run.removeDamaged) {
        await folder.remove(name);
        counts.removed++;
      }
      report.progress({ done: ++done, total: copies.size, skipped: 0 });
    }
    return counts;
  } finally {
    report.close();
  }
}

/** The copies by their names, each with one of its originals. */
async function copiesIn({ openArchive }: CheckRun): Promise<Map<string, Copy>> {
  const copies = new Map<string, Copy>();
  const archive = await openArchive();
  try {
    for await (const { url, file, bytes } of archive.media())
      if (file !== null) copies.set(file, { url, bytes });
    return copies;
  } finally {
    await archive.close();
  }
}

async function stateOf(
  folder: MediaFolder,
  name: string,
  { bytes }: Copy,
  { quick }: CheckRun,
): Promise<'sound' | 'missing' | 'damaged'> {
  const size = await folder.sizeOf(name);
  if (size === undefined) return 'missing';
  if (size !== bytes) return 'damaged';
  return quick || name.startsWith(`${await hashOf(folder.placeOf(name))}.`) ? 'sound' : 'damaged';
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}
