// Watches the files of `serve FILE…` by looking at them again and again, without holding up the server meanwhile.
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 100;
/** Folders with many files are looked at less often: at most this part of the time. */
const LOOKING_SHARE = 0.1;

/** How the files are now: another text after each save. Of a folder, the files with these names count. */
export async function lookAt(files: readonly string[], names: RegExp | undefined): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files)
    for (const path of await listPaths(file, names)) hash.update(`${path}\n${await describeState(path)}\n`);
  return hash.digest('hex');
}

async function listPaths(path: string, names: RegExp | undefined): Promise<string[]> {
  if (names === undefined) return [path];
  // What is no folder, or is not there, is looked at itself.
  const found = await readdir(path, { recursive: true }).catch(() => undefined);
  if (found === undefined) return [path];
  return found.filter((name) => name.search(names) !== -1).map((name) => join(path, name));
}

async function describeState(path: string): Promise<string> {
  const stats = await stat(path, { bigint: true }).catch(() => undefined);
  return stats === undefined ? 'missing' : [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
}

/**
 * Calls `onSave` when files have changed and nothing writes to them any more, until the signal. A save that is still being
 * handled when they change again is given up. Tests pass another `pause`.
 */
export async function watchSaves(
  look: () => Promise<string>,
  before: string,
  onSave: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  pause = delay,
): Promise<void> {
  let known: string | undefined = before;
  let seen = before;
  let took = 0;
  let handling = { done: Promise.resolve(), change: new AbortController() };
  while (!signal.aborted) {
    await pause(Math.max(POLL_MS, took / LOOKING_SHARE), undefined, { signal }).catch(() => {});
    const start = performance.now();
    const now = await look();
    took = performance.now() - start;
    const isAtRest = now === seen;
    seen = now;
    if (now === known || signal.aborted) continue;
    // Files that are unreachable for a moment come back as they were, and the save that was given up is handled after all.
    known = undefined;
    handling.change.abort();
    await handling.done;
    if (!isAtRest) continue;
    known = now;
    const change = new AbortController();
    handling = { done: onSave(AbortSignal.any([signal, change.signal])), change };
  }
  await handling.done;
}
