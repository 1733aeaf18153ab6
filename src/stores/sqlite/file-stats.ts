// What lies at the path of a database: the file, and the log and index that SQLite keeps beside it.
import { type Stats, statSync } from 'node:fs';

export interface FileStats {
  readonly database: Stats | undefined;
  readonly log: Stats | undefined;
  readonly index: Stats | undefined;
}

export const readStats = (path: string): FileStats => ({
  database: statOf(path),
  log: statOf(`${path}-wal`),
  index: statOf(`${path}-shm`),
});

export const isSameFile = (one: Stats | undefined, two: Stats | undefined) =>
  one !== undefined && one.ino === two?.ino && one.dev === two.dev;

/** Whether a file was written to. */
export const isWritten = (before: Stats | undefined, after: Stats | undefined) =>
  before?.mtimeMs !== after?.mtimeMs || before?.size !== after?.size;

/** Changes when the files do, their contents or their permissions. An empty log comes and goes with each reader. */
export const signature = ({ database, log }: FileStats) =>
  [database, log !== undefined && log.size > 0 ? log : undefined]
    .map((stats) => stats && `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`)
    .join();

/** Undefined when the file is missing or cannot be looked at. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
