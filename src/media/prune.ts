// Removes copies that no record names any more: first the database forgets them, then their files go.
import type { Writer } from '../stores/writer.ts';
import { createMediaFolder } from './folder.ts';

interface PruneOptions {
  readonly mediaDir: string;
  /** How long nothing has named what is removed, in seconds. */
  readonly grace: number;
  readonly writer: Pick<Writer, 'pruneMedia' | 'unknownFiles'>;
  readonly signal: AbortSignal;
}

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
