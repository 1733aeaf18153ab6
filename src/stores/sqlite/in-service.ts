// The reader that is in service, and the version of its data.
import { openReader, type SqliteReader } from './read.ts';

export type InService = ReturnType<typeof createInService>;

export function createInService(path: string) {
  let reader: SqliteReader | undefined;
  let generation = 0;
  /** Changes with the data and with the file. */
  let version = 1;
  /** SQLite's number of the last commit that `sawCommit` was asked about. */
  let dataVersion = 0;
  let takedowns: readonly string[] = [];

  /** Puts a reader in the place of the one before. */
  function put(opened: SqliteReader): void {
    reader?.close();
    reader = opened;
    version++;
    unlessLocked(() => {
      dataVersion = opened.dataVersion();
      generation = opened.generation();
    });
    readTakedowns();
  }

  /** Read as soon as they may have changed: later the file may be damaged. */
  function readTakedowns(): void {
    unlessLocked(() => {
      takedowns = reader?.takedowns().entries.map(({ hash }) => hash) ?? takedowns;
    });
  }

  return {
    reader: () => reader,
    put,

    /** Changes whenever what is served may have. While the file cannot be read, it stays what it was. */
    version(): number {
      unlessLocked(() => {
        const now = reader?.generation() ?? generation;
        if (now !== generation) version++;
        generation = now;
      });
      return version;
    },

    /** Whether SQLite told of a commit since the last call. */
    sawCommit(): boolean {
      const before = dataVersion;
      unlessLocked(() => {
        dataVersion = reader?.dataVersion() ?? dataVersion;
      });
      if (dataVersion === before) return false;
      readTakedowns();
      return true;
    },

    /**
     * A writer that opened the file before we noticed it shares no log with us: SQLite does not tell us of its commits.
     * False if the file cannot be read now.
     */
    reopenIfNewer(): boolean {
      try {
        const fresh = openReader(path);
        if (fresh.generation() === reader?.generation()) fresh.close();
        else put(fresh);
        return true;
      } catch {
        return false;
      }
    },

    /** The hashes of what was taken down. In a damaged file they are what they were before. */
    takedowns(): readonly string[] {
      readTakedowns();
      return takedowns;
    },
  };
}

/** Does without what cannot be read now: another program may hold the file locked, or it may be damaged. */
function unlessLocked(action: () => void): void {
  try {
    action();
  } catch (error) {
    if ((error as Error).name !== 'SqliteError') throw error;
  }
}
