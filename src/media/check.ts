// Checks the folder against the store: every copy is there, and its bytes have the hash that is its name.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Terminal } from '../files/terminal.ts';
import { brief } from '../records/printable.ts';
import { createRun, createRunReport } from '../runs/each.ts';
import type { Archive } from '../stores/archive.ts';
import type { StoreHandle } from '../stores/open.ts';
import { type Connection, openScratch } from '../stores/sqlite/connect.ts';
import { createMediaFolder, type MediaFolder } from './folder.ts';

interface CheckOptions {
  readonly mediaDir: string;
  readonly openArchive: () => Promise<StoreHandle<Archive>>;
  /** Whether only sizes are looked at. */
  readonly quick: boolean;
  readonly removeDamaged: boolean;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

interface CheckCounts {
  readonly files: number;
  /** Files that were looked at: fewer if the run was stopped. */
  checked: number;
  sound: number;
  missing: number;
  damaged: number;
  removed: number;
}

const LONGEST_SHOWN = 120;

interface Copy {
  readonly file: string;
  readonly bytes: number;
  /** One of its originals. */
  readonly url: string;
}

export async function runCheck(options: CheckOptions): Promise<CheckCounts> {
  const folder = createMediaFolder(options.mediaDir);
  using report = createRunReport(options.out, 'checking', 'files');
  using scratch = openScratch();
  const files = await listCopies(scratch, options);
  const counts = { files, checked: 0, sound: 0, missing: 0, damaged: 0, removed: 0 };
  const run = createRun({ report, signal: options.signal, total: files });
  const copies = scratch.prepare('SELECT * FROM copies').iterate() as Iterable<Copy>;
  await run.each([copies], async (copy) => {
    const state = await checkCopy(folder, copy, options);
    counts.checked++;
    counts[state]++;
    if (state === 'sound') return;
    report.fault(`${copy.file} is ${state}: the copy of ${brief(copy.url, LONGEST_SHOWN)}`);
    if (state === 'damaged' && options.removeDamaged && (await folder.remove(copy.file))) counts.removed++;
  });
  return counts;
}

/** How many there are. */
async function listCopies(scratch: Connection, { openArchive }: CheckOptions): Promise<number> {
  scratch.exec('CREATE TABLE copies (file TEXT PRIMARY KEY, bytes INTEGER, url TEXT) WITHOUT ROWID');
  const insert = scratch.prepare('INSERT OR IGNORE INTO copies VALUES (@file, @bytes, @url)');
  await using archive = await openArchive();
  let files = 0;
  for await (const { file, bytes, url } of archive.media())
    if (file !== null) files += insert.run({ file, bytes, url }).changes;
  return files;
}

async function checkCopy(
  folder: MediaFolder,
  { file, bytes }: Copy,
  { quick }: CheckOptions,
): Promise<'sound' | 'missing' | 'damaged'> {
  const size = await folder.readSize(file);
  if (size === undefined) return 'missing';
  if (size !== bytes) return 'damaged';
  return quick || file.startsWith(`${await hashFile(folder.findPlace(file))}.`) ? 'sound' : 'damaged';
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}
