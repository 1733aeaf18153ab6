// Notices that files were saved. The files are looked at, since a folder's watcher is silent on network drives and in
// containers, and follows the wrong file when an editor renames a new one over it.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const POLL_MS = 100;
/** Folders with many files are looked at less often: at most this part of the time. */
const LOOKING_SHARE = 0.1;
/** Editors that write a new file may have no file at the path for a moment. */
const MISSING_POLLS = 10;

export interface Saves {
  /** Whether a file was saved again since `onSave` was called last. */
  isStale(): boolean;
  stop(): void;
}

interface SaveListener {
  /** Files were saved, all are there, and nobody is writing them. */
  onSave(): Promise<void>;
  onMissing(file: string): void;
}

/** How the files are now: before they are read, so that no save is missed. */
export const lookAt = (files: readonly string[]) => files.map(signature).join();

export function watchSaves(files: readonly string[], before: string, listener: SaveListener): Saves {
  let known = before;
  let seen = before;
  let isBusy = false;
  let missing: { readonly file: string; polls: number } | undefined;

  function noteMissing(): void {
    const file = files.find((path) => signature(path) === MISSING);
    if (file === undefined) missing = undefined;
    else if (missing?.file !== file) missing = { file, polls: 0 };
    else if (++missing.polls === MISSING_POLLS) listener.onMissing(file);
  }

  function poll(): void {
    const start = performance.now();
    look();
    const took = performance.now() - start;
    timer = setTimeout(poll, Math.max(POLL_MS, took / LOOKING_SHARE));
  }

  function look(): void {
    if (isBusy) return;
    const now = lookAt(files);
    const isAtRest = now === seen;
    seen = now;
    if (now === known) return;
    noteMissing();
    if (missing !== undefined || !isAtRest) return;
    known = now;
    isBusy = true;
    void listener.onSave().finally(() => {
      isBusy = false;
    });
  }

  let timer = setTimeout(poll, POLL_MS);
  return { isStale: () => lookAt(files) !== known, stop: () => clearTimeout(timer) };
}

const MISSING = 'missing';

/** Of a folder, such as an unpacked export, with all that is in it. */
function signature(path: string): string {
  try {
    const stats = statSync(path, { bigint: true });
    const { ino, size, mtimeNs, ctimeNs } = stats;
    const own = [ino, size, mtimeNs, ctimeNs].join(' ');
    if (!stats.isDirectory()) return own;
    return [own, ...readdirSync(path).map((name) => signature(join(path, name)))].join();
  } catch {
    return MISSING;
  }
}
