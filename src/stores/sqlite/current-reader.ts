// The reader of the file that is served, and what is known of its data also while it cannot be read.
import type { StoreListener } from '../reader.ts';
import { type FileStats, isWritten, readStats } from './file.ts';
import { openReader, type SqliteReader } from './read.ts';

export type CurrentReader = ReturnType<typeof createCurrentReader>;

/** Undefined while the file cannot be read: another program may hold it locked, or it may be damaged. */
export function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

export function createCurrentReader(path: string, observe: StoreListener) {
  let reader: SqliteReader | undefined;
  /** Counted, since two files may have the same generation. */
  let version = 0;
  let generation: number | undefined;
  let takedowns: readonly string[] = [];
  /** What was at the path when the reader was opened, or since then while it stayed the same file. */
  let stats = readStats(path);
  let reported = 0;

  const readVersion = () => {
    const current = ifReadable(() => reader?.version()) ?? generation;
    if (current !== generation) version++;
    generation = current;
    return version;
  };
  const readTakedowns = () => {
    takedowns = ifReadable(() => reader?.takedownHashes()) ?? takedowns;
    return takedowns;
  };

  /** Puts a reader in the place of the one before. */
  function put(opened: SqliteReader): void {
    reader?.close();
    reader = opened;
    stats = readStats(path);
    version++;
    reported = readVersion();
    readTakedowns();
  }

  return {
    reader: () => reader,
    stats: () => stats,
    version: readVersion,
    takedowns: readTakedowns,
    put,

    /** To be called when the served file is in its place. */
    noteChanges(current: FileStats): void {
      const before = reported;
      if (!isWritten(stats.database, current.database) || reopenIfNewer(path, reader, put)) stats = current;
      reported = readVersion();
      if (reported === before) return;
      // Now, since later the file may be damaged.
      readTakedowns();
      observe({ type: 'data-changed', message: 'the data changed' });
    },
  };
}

/**
 * A writer that opened the file before we noticed it shares no log with us: SQLite does not tell us of its commits.
 * False if the file cannot be read now.
 */
function reopenIfNewer(
  path: string,
  reader: SqliteReader | undefined,
  put: (opened: SqliteReader) => void,
): boolean {
  try {
    const fresh = openReader(path);
    if (fresh.version() === reader?.version()) fresh.close();
    else put(fresh);
    return true;
  } catch {
    return false;
  }
}
