// How much the folder of copies may hold. A run measures the folder as it begins.

import type { MediaFolder } from '../../stores/media-folder.ts';
import { OutputError } from '../../stores/output.ts';

/** The copies take all the room they may have. */
export class QuotaReached extends OutputError {
  override name = 'QuotaReached';
  override message = 'the copies take all of --media-quota';
}

export type Quota = ReturnType<typeof openQuota>;

export function openQuota(folder: MediaFolder, most: number) {
  let size = measureFolder(folder);
  return {
    /** Throws a QuotaReached unless there is room for one more byte. */
    refuseIfFull(): void {
      if (size >= most) throw new QuotaReached();
    },
    /** Takes room for a part of a file, or throws a QuotaReached. */
    take(bytes: number): void {
      if (size + bytes > most) throw new QuotaReached();
      size += bytes;
    },
    /** What was taken for a file that was not kept is free again. */
    release(bytes: number): void {
      size -= bytes;
    },
  };
}

function measureFolder(folder: MediaFolder): number {
  let size = 0;
  for (const page of folder.pages()) for (const { bytes } of page) size += bytes;
  return size;
}
