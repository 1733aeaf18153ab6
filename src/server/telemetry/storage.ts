// The disk and the snapshots of a SQLite file, for /metrics: looked at with each question.
import { readdirSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isPostgresUrl } from '../../config/database-url.ts';
import type { Config } from '../../config/settings.ts';

export interface Storage {
  /** Bytes of the file and its log; undefined where there is no file. */
  readonly databaseBytes: number | undefined;
  /** Bytes that are free beside the file. */
  readonly freeBytes: number | undefined;
  /** When the newest snapshot in SNAPSHOT_DIR was made, in seconds since 1970; 0 if there is none. */
  readonly lastSnapshot: number | undefined;
}

const NONE: Storage = { databaseBytes: undefined, freeBytes: undefined, lastSnapshot: undefined };

export function readStorage({
  databaseUrl,
  snapshotDir,
}: Pick<Config, 'databaseUrl' | 'snapshotDir'>): Storage {
  if (databaseUrl === undefined || isPostgresUrl(databaseUrl)) return NONE;
  return {
    databaseBytes: attempt(() => statSync(databaseUrl).size + sizeOf(`${databaseUrl}-wal`)),
    freeBytes: attempt(() => {
      const { bavail, bsize } = statfsSync(dirname(databaseUrl));
      return bavail * bsize;
    }),
    lastSnapshot: snapshotDir === undefined ? undefined : findNewest(snapshotDir),
  };
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** As `vitrine snapshot --keep` names them. */
const DATED = /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/;

function findNewest(folder: string): number {
  const times = (attempt(() => readdirSync(folder)) ?? []).flatMap((name) => {
    const found = DATED.exec(name);
    if (found === null) return [];
    const [year = 0, month = 1, day, hour, minute, second] = found.slice(1).map(Number);
    return [Date.UTC(year, month - 1, day, hour, minute, second) / 1000];
  });
  return Math.max(0, ...times);
}

/** The file may be away for a moment, and a folder may not be readable. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
