// Another file that was renamed over the one that is served: it is checked and opened. A file that is not sound is refused,
// and the one before is served on.
import { rmSync } from 'node:fs';
import { printable } from '../../records/printable.ts';
import type { StoreListener } from '../reader.ts';
import { type FileStats, foreignLog, isSameFile, readStats, refuseForeignLog, signature } from './file.ts';
import { type Finding, inspectAside } from './inspect.ts';
import { openReader, type SqliteReader } from './read.ts';

interface Refusal {
  /** Of the files that were refused. */
  readonly signature: string;
  readonly sentence: string;
  /** Whether they are tried again although they did not change. */
  readonly mayPass: boolean;
}

export function createReplacement(path: string, observe: StoreListener) {
  let refusal: Refusal | undefined;

  /** Says so once, however often it is tried again. */
  function refuse(seen: string, { fault, mayPass = false }: Finding): void {
    const sentence = `${printable(fault ?? '')} The data before stays.`;
    if (refusal?.sentence !== sentence || refusal.signature !== seen)
      observe({ type: 'data-fault', message: sentence });
    refusal = { signature: seen, sentence, mayPass };
  }

  return {
    /** Why a newer file is not served. */
    refusal: () => refusal?.sentence,

    /** The served file is in its place. */
    forget() {
      refusal = undefined;
    },

    /** A reader of the file that took the place of the served one, if it is sound and has all of these takedowns. */
    async open(
      candidate: FileStats,
      served: FileStats,
      takedowns: readonly string[],
    ): Promise<SqliteReader | undefined> {
      const seen = signature(candidate);
      if (refusal?.signature === seen && !refusal.mayPass) return undefined;
      const finding =
        removeLeftovers(path, candidate, served) ??
        (await inspectAside({ path, want: 'soundness', takedowns }));
      // Yet another file may have come meanwhile: it gets a check of its own.
      const isThere = () => isSameFile(readStats(path).database, candidate.database);
      if (!isThere()) return undefined;
      if (finding.fault !== undefined) return void refuse(seen, finding);
      try {
        const reader = openReader(path);
        if (isThere()) return reader;
        reader.close();
      } catch (error) {
        refuse(seen, { fault: (error as Error).message, mayPass: true });
      }
      return undefined;
    },
  };
}

/** Removes what lies beside the file that was replaced, so that SQLite does not read it into the new one. */
function removeLeftovers(path: string, candidate: FileStats, served: FileStats): Finding | undefined {
  const isLogLeft = isSameFile(candidate.log, served.log);
  if (isLogLeft && (candidate.log?.size ?? 0) > 0) return { fault: foreignLog(path) };
  try {
    if (isLogLeft) rmSync(`${path}-wal`, { force: true });
    if (isSameFile(candidate.index, served.index)) rmSync(`${path}-shm`, { force: true });
  } catch (error) {
    return { fault: `${path} was replaced, but ${(error as Error).message}.`, mayPass: true };
  }
  try {
    refuseForeignLog(path);
    return undefined;
  } catch (error) {
    return { fault: (error as Error).message };
  }
}
