// The reader of the file that is served, and what is known of its data also while that cannot be read.
import { type FileStats, isWritten, readStats } from './file.ts';
import { openReader, type SqliteReader } from './read.ts';

/** Undefined while the file cannot be read: another program may hold it locked, or it may be damaged. */
export function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

export type Current = ReturnType<typeof createCurrent>;

export function createCurrent(path: string) {
  let reader: SqliteReader | undefined;
  /** What was at the path when the reader was opened, or since then while it stayed the same file. */
  let stats = readStats(path);
  /** Counted, since two files may have the same generation. */
  let version = 0;
  /** The version that the log was told of. */
  let reported = 0;
  let generation: number | undefined;
  let takedowns: readonly string[] = [];

  function readVersion(): number {
    const now = ifReadable(() => reader?.version()) ?? generation;
    if (now !== generation) version++;
    generation = now;
    return version;
  }

  /** Later the file may be damaged: then no other takes its place without these. */
  function readTakedowns(): readonly string[] {
    takedowns = ifReadable(() => reader?.takedownHashes()) ?? takedowns;
    return takedowns;
  }

  /** Puts a reader in the place of the one before. */
  function put(opened: SqliteReader): void {
    reader?.close();
    reader = opened;
    stats = readStats(path);
    version++;
    readTakedowns();
  }

  /**
   * A writer that opened the file before we noticed it shares no log with us: SQLite does not tell us of its commits.
   * False if the file cannot be read now.
   */
  function reopenIfNewer(): boolean {
    const fresh = ifReadable(() => openReader(path));
    const found = ifReadable(() => fresh?.version());
    if (fresh !== undefined && found !== undefined && found !== ifReadable(() => reader?.version()))
      put(fresh);
    else fresh?.close();
    return found !== undefined;
  }

  return {
    reader: () => reader,
    stats: () => stats,
    version: readVersion,
    takedowns: readTakedowns,
    put,
    /** The log is told of the version that there is now. */
    report(): void {
      reported = readVersion();
    },
    /** To be called when the served file is in its place; whether its data changed. */
    noteChanges(found: FileStats): boolean {
      if (!isWritten(stats.database, found.database) || reopenIfNewer()) stats = found;
      if (readVersion() === reported) return false;
      reported = version;
      readTakedowns();
      return true;
    },
  };
}
