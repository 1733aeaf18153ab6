// How much the folder of copies may hold. Its size is noted in it, so that a run need not look at every file. What others remove
// makes it smaller than that, which is found out before a run gives up. While a run writes, nothing is noted.
import { OutputError } from '../../stores/output.ts';
import type { MediaFolder } from './folder.ts';

/** The copies take all the room they may have. */
export class QuotaReached extends OutputError {
  override name = 'QuotaReached';
  override message = 'the copies take all of --media-quota';
}

export type Quota = ReturnType<typeof openQuota>;

/** With `isMeasured` the folder is measured whatever is noted. */
export function openQuota(folder: MediaFolder, most: number, isMeasured: boolean) {
  const noted = folder.takeNotedSize();
  let isSure = isMeasured || noted === undefined;
  let size = isSure ? measureFolder(folder) : Number(noted);
  /** Of files that are not in their places yet. */
  let incoming = 0;

  function hasRoom(bytes: number): boolean {
    if (size + bytes <= most || isSure) return size + bytes <= most;
    isSure = true;
    size = measureFolder(folder) + incoming;
    return hasRoom(bytes);
  }

  return {
    /** Throws a QuotaReached unless there is room for one more byte. */
    refuseIfFull(): void {
      if (!hasRoom(1)) throw new QuotaReached();
    },
    /** Takes room for a part of a file, or throws a QuotaReached. */
    take(bytes: number): void {
      if (!hasRoom(bytes)) throw new QuotaReached();
      size += bytes;
      incoming += bytes;
    },
    /** What was taken for a file is in its place, or it is free again. */
    settle(bytes: number, isKept: boolean): void {
      incoming -= bytes;
      if (!isKept) size -= bytes;
    },
    [Symbol.dispose]: () => folder.noteSize(size),
  };
}

function measureFolder(folder: MediaFolder): number {
  let size = 0;
  for (const page of folder.pages()) for (const { bytes } of page) size += bytes;
  return size;
}
