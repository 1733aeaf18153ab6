// Notices that files were saved. The files are looked at, since a folder's watcher is silent on network drives and in
// containers, and follows the wrong file when an editor renames a new one over it.
import { statSync } from 'node:fs';

const POLL_MS = 100;
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

  const timer = setInterval(poll, POLL_MS);
  return { isStale: () => lookAt(files) !== known, stop: () => clearInterval(timer) };
}

const MISSING = 'missing';

function signature(file: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(' ');
  } catch {
    return MISSING;
  }
}
