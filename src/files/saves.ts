// Notices that files were saved. The files are looked at, since a folder's watcher is silent on network drives and in
// containers, and follows the wrong file when an editor renames a new one over it.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const POLL_MS = 100;
/** Folders with many files are looked at less often: at most this part of the time. */
const LOOKING_SHARE = 0.1;

/** How the files are now: before they are read, so that no save is missed. */
export const lookAt = (files: readonly string[]) => files.map(signature).join();

/** Calls `onSave` when files have changed and nobody is writing them any more, until the signal. */
export async function watchSaves(
  files: readonly string[],
  before: string,
  onSave: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let known = before;
  let seen = before;
  let took = 0;
  while (!signal.aborted) {
    await pause(Math.max(POLL_MS, took / LOOKING_SHARE), undefined, { signal }).catch(() => {});
    const start = performance.now();
    const now = lookAt(files);
    took = performance.now() - start;
    const isAtRest = now === seen;
    seen = now;
    if (now === known || !isAtRest || signal.aborted) continue;
    known = now;
    await onSave();
  }
}

/** Of a folder, such as an unpacked export, with all that is in it. */
function signature(path: string): string {
  try {
    const stats = statSync(path, { bigint: true });
    const { ino, size, mtimeNs, ctimeNs } = stats;
    const own = [ino, size, mtimeNs, ctimeNs].join(' ');
    if (!stats.isDirectory()) return own;
    return [own, ...readdirSync(path).map((name) => signature(join(path, name)))].join();
  } catch {
    return 'missing';
  }
}
