// `vitrine restore`: what a snapshot holds takes the place of what a database holds, in one transaction. A copy of the
// snapshot is made beside the database, migrated and checked before the database is touched.
import { existsSync, rmSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { openReplacement } from '../../files/output.ts';
import { StoreError } from '../errors.ts';
import type { Counts } from '../reader.ts';
import type { RemovalCounts } from '../removal.ts';
import { type Connection, openForReading, openForWriting, openToCopy } from './connect.ts';
import { describeErrors, toStoreError } from './errors.ts';
import { isSameFile } from './file.ts';
import { countLost } from './inspect.ts';
import { readSchema, refuseUnimported } from './migrate.ts';
import { openArchive } from './read.ts';
import { emptyLog } from './stage.ts';
import { openWriter } from './write.ts';

export interface RestoreOptions {
  /** Only find out whether the file can be restored. */
  readonly check: boolean;
  /** Ends the restore, which then changes nothing. */
  readonly signal: AbortSignal;
}

export interface RestoreResult {
  readonly counts: Counts;
  /** What the snapshot still had although it was taken down since: it is left out. */
  readonly takenDown: RemovalCounts;
  /** What else the operator should know. */
  readonly warning: string | undefined;
}

type Copy = ReturnType<typeof openReplacement>;

export async function restore(
  path: string,
  file: string,
  { check, signal }: RestoreOptions,
): Promise<RestoreResult> {
  if (!existsSync(file)) throw new StoreError(`${file} does not exist.`);
  if (isSameFile(statSync(file), statIfAny(path))) throw new StoreError(`${file} is the database itself.`);
  const copy = openReplacement(path);
  try {
    const counts = await prepare(copy.path, { path, file, signal });
    if (check) return { counts, takenDown: NOTHING, warning: undefined };
    const live = openLive(path);
    try {
      const kept = await putInPlace(copy, live, path, signal);
      return { counts, ...kept };
    } finally {
      live?.close();
    }
  } finally {
    copy.discard();
  }
}

interface Source {
  readonly path: string;
  readonly file: string;
  readonly signal: AbortSignal;
}

/** Copies the snapshot, brings it to this schema and checks it; what it holds. */
async function prepare(copyPath: string, { path, file, signal }: Source): Promise<Counts> {
  try {
    const source = openToCopy(file);
    try {
      if (describeErrors(file, () => readSchema(source)) === 0) throw new StoreError(`${file} is empty.`);
      await backUp(source, copyPath, signal);
    } finally {
      source.close();
    }
    const migrated = openForWriting(copyPath);
    try {
      refuseUnimported(migrated, copyPath);
    } finally {
      migrated.close();
    }
    signal.throwIfAborted();
    const archive = openArchive(copyPath);
    const { faults, counts } = await archive.check();
    await archive.close();
    if (counts === undefined || faults.length > 0)
      throw new StoreError(`${file} is not sound: ${faults.join('; ')}`);
    return counts;
  } catch (error) {
    throw error instanceof StoreError ? describeCopy(error, copyPath, path, file) : error;
  }
}

/** The operator does not know of the copy. */
function describeCopy(error: StoreError, copyPath: string, path: string, file: string): StoreError {
  const { code = '' } = (error.cause ?? {}) as { code?: string };
  if (code.startsWith('SQLITE_CANTOPEN') && error.message.includes(copyPath))
    return new StoreError(`${path} cannot be written: its folder must exist and be writable.`);
  const isTarget = code.startsWith('SQLITE_FULL');
  return new StoreError(error.message.replaceAll(copyPath, isTarget ? path : file), { cause: error });
}

/** Undefined where there is nothing that could be overwritten: no file, or one too damaged to be opened. */
function openLive(path: string): Connection | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return openForWriting(path);
  } catch (error) {
    const { code = '' } = ((error as Error).cause ?? {}) as { code?: string };
    if (code.startsWith('SQLITE_CORRUPT')) return undefined;
    throw error;
  }
}

const NOTHING: RemovalCounts = { users: 0, items: 0 };

/** What was taken down since the snapshot must not come back with it. */
async function putInPlace(
  copy: Copy,
  live: Connection | undefined,
  path: string,
  signal: AbortSignal,
): Promise<Omit<RestoreResult, 'counts'>> {
  const isReadable = readTakedowns(live) !== undefined || !existsSync(path);
  const warning = isReadable
    ? undefined
    : `the takedowns in ${path} cannot be read: repeat those that are newer than the snapshot`;
  if (live === undefined) {
    signal.throwIfAborted();
    putFile(copy, path);
    return { takenDown: NOTHING, warning };
  }
  let takenDown = NOTHING;
  do {
    const { users, items } = await adoptTakedowns(copy.path, live, path);
    takenDown = { users: takenDown.users + users, items: takenDown.items + items };
    signal.throwIfAborted();
  } while (!(await overwrite(live, copy.path, path, signal)));
  return { takenDown, warning };
}

/** Undefined if they cannot be read. */
function readTakedowns(live: Connection | undefined): string[] | undefined {
  try {
    return live?.prepare<[], string>('SELECT hash FROM takedowns').pluck().all();
  } catch {
    return undefined;
  }
}

/** Also of a snapshot that forgets takedowns: it leaves out its own, not those of the database. */
const lacksTakedowns = (copy: Connection, live: Connection) => countLost(copy, readTakedowns(live) ?? []) > 0;

async function adoptTakedowns(copyPath: string, live: Connection, path: string): Promise<RemovalCounts> {
  const copy = openForReading(copyPath, copyPath);
  const isComplete = !lacksTakedowns(copy, live);
  copy.close();
  if (isComplete) return NOTHING;
  const archive = openArchive(path);
  const list = await archive.takedowns();
  await archive.close();
  const writer = openWriter(copyPath);
  // The copies of their pictures were removed by the takedown.
  const takenDown = await writer.adoptTakedowns(list, () => {});
  await writer.close();
  return takenDown;
}

/** False, and nothing was changed, if the database has a takedown that the copy lacks: one that was just made. */
async function overwrite(
  live: Connection,
  copyPath: string,
  path: string,
  signal: AbortSignal,
): Promise<boolean> {
  const copy = openForWriting(copyPath);
  let isComplete: boolean | undefined;
  const refuseIncomplete = () => {
    isComplete ??= !lacksTakedowns(copy, live);
    if (!isComplete) throw new StoreError(`There are new takedowns in ${path}.`);
  };
  try {
    matchPageSize(copy, live);
    await backUp(copy, path, signal, refuseIncomplete).finally(() => emptyLog(live));
    return true;
  } catch (error) {
    if (isComplete !== false) throw error;
    return false;
  } finally {
    copy.close();
  }
}

/** A backup into a database in WAL mode cannot change the size of its pages. */
function matchPageSize(copy: Connection, live: Connection): void {
  const pageSize = (db: Connection) => db.pragma('page_size', { simple: true });
  if (pageSize(copy) === pageSize(live)) return;
  copy.pragma('journal_mode = DELETE');
  copy.pragma(`page_size = ${pageSize(live)}`);
  copy.exec('VACUUM');
}

/** In the place of a file that is missing, or too damaged to be opened. */
function putFile(copy: Copy, path: string): void {
  const found = statIfAny(path);
  const prepared = openForWriting(copy.path);
  // As a snapshot is, so that whatever log lies there is known to be another file's.
  prepared.pragma('journal_mode = DELETE');
  prepared.close();
  // A database that another process makes within the next few lines is lost: renaming takes no lock.
  const now = statIfAny(path);
  if (now !== undefined && !isSameFile(now, found))
    throw new StoreError(`${path} was just replaced by another process: try again.`);
  describeErrors(path, () => {
    // Not after the file is in place: a writer that opens it at once has a log of its own.
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
    copy.commit();
  });
}

const statIfAny = (path: string) => statSync(path, { throwIfNoEntry: false });

/** In each turn of the event loop. */
const PAGES_AT_ONCE = 500;
const WAIT_MS = 60_000;
const AGAIN_MS = 50;

/** Readers of the target see all of it at once, when it is complete. */
async function backUp(
  source: Connection,
  target: string,
  signal: AbortSignal,
  refuse = () => {},
): Promise<void> {
  const start = performance.now();
  // Called first when the write lock of the target is held but nothing is written. What it throws undoes the backup.
  const progress = () => {
    signal.throwIfAborted();
    refuse();
    return PAGES_AT_ONCE;
  };
  try {
    // better-sqlite3 takes it for done, with no pages at all, when another process is writing the target.
    while ((await source.backup(target, { progress })).totalPages === 0) {
      if (performance.now() - start > WAIT_MS)
        throw new StoreError(`${target} is being written by another process; try again when it is done.`);
      await delay(AGAIN_MS, undefined, { signal });
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : toStoreError(target, error);
  }
}
