// `vitrine snapshot`: a compact copy of a file, put in place at once.
import { createHash } from 'node:crypto';
import { readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import Database from 'better-sqlite3';
import { openReplacement } from '../../files/output.ts';
import { StoreError } from '../errors.ts';
import { type Connection, openForReading } from './connect.ts';
import { describeErrors, toStoreError } from './errors.ts';
import { isSameFile, refuseMissing } from './file.ts';

export interface SnapshotOptions {
  /** The copy has no takedowns, and may be served in the place of a file that has. */
  readonly forgetTakedowns: boolean;
}

/** The copy needs no other file beside it, so it can be served from read-only media. */
export function snapshot(path: string, target: string, options: SnapshotOptions): void {
  if (isFolder(target)) throw new StoreError(`${target} is a folder: name a file in it, or give --keep.`);
  using db = openForReading(path, path);
  refuseSame(path, target);
  using copy = openReplacement(target);
  vacuumInto(db, { path, target, unfinished: copy.path });
  describeErrors(target, () => {
    finish(copy.path, options);
    copy.commit();
  });
}

export interface DatedSnapshot {
  readonly file: string;
  /** Older ones that it took the place of. */
  readonly removed: readonly string[];
}

/**
 * A snapshot in a folder, named for its database and time. Only `keep` of them stay; the oldest go when the new one is
 * whole.
 */
export function datedSnapshot(
  path: string,
  folder: string,
  keep: number,
  options: SnapshotOptions,
): DatedSnapshot {
  if (!isFolder(folder)) throw new StoreError(`${folder} is not a folder: create it first.`);
  const name = snapshotName(path);
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const file = join(folder, `${name}-${time}.db`);
  snapshot(path, file, options);
  const isDated = (found: string) =>
    found.startsWith(`${name}-`) && /^\d{8}T\d{6}Z\.db$/.test(found.slice(name.length + 1));
  // Not the new one, although a clock that was put back may make it the oldest by its name.
  const older = readdirSync(folder)
    .filter((found) => isDated(found) && found !== basename(file))
    .sort()
    .map((found) => join(folder, found));
  const removed = older.slice(0, Math.max(older.length + 1 - keep, 0));
  for (const old of removed) describeErrors(old, () => rmSync(old, { force: true }));
  return { file, removed };
}

/** Other databases, of the same name too, may have their snapshots in the same folder. */
function snapshotName(path: string): string {
  refuseMissing(path);
  const hash = createHash('sha256').update(realpathSync(path)).digest('hex');
  return `${basename(path, extname(path))}-${hash.slice(0, 8)}`;
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

function refuseSame(path: string, target: string): void {
  if (isSameFile(statSync(path), statSync(target, { throwIfNoEntry: false })))
    throw new StoreError(`${target} is the database itself: write the snapshot to another file.`);
}

interface CopyPaths {
  readonly path: string;
  readonly target: string;
  readonly unfinished: string;
}

export function vacuumInto(db: Connection, { path, target, unfinished }: CopyPaths): void {
  try {
    // SQLite counts the copy as a change.
    db.pragma('query_only = OFF');
    db.prepare('VACUUM INTO ?').run(unfinished);
  } catch (error) {
    const { code = '' } = error as { code?: string };
    if (code.startsWith('SQLITE_CANTOPEN'))
      throw new StoreError(`${target} cannot be written: its folder must exist and be writable.`);
    throw toStoreError(/^SQLITE_(CORRUPT|NOTADB|BUSY|ERROR)/.test(code) ? path : target, error);
  }
}

const FORGET = `
  DELETE FROM takedowns;
  DELETE FROM takedown_salts;
  INSERT INTO takedowns_forgotten VALUES (1)`;

/** `VACUUM INTO` made the file without a write-ahead log, which read-only media cannot hold. */
function finish(unfinished: string, { forgetTakedowns }: SnapshotOptions): void {
  const copy = new Database(unfinished);
  copy.exec('DELETE FROM takedowns_forgotten');
  if (forgetTakedowns) copy.exec(FORGET);
  copy.close();
}
