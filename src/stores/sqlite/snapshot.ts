// `vitrine snapshot`: a compact copy of a file, put in place at once.

import { createHash } from 'node:crypto';
import { readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { errorCode, errorMessage } from '../../records/thrown.ts';
import { StoreError } from '../errors.ts';
import { isOldUnfinished, isUnfinished, openReplacement } from '../output.ts';
import { noStep, type StepListener } from '../steps.ts';
import { type OpenDatabase, openExclusive, openForReading } from './connect.ts';
import { describeErrors, toStoreError } from './errors.ts';
import { isSameFile, refuseMissing } from './file.ts';

/** The copy needs no other file beside it, so it can be served from read-only media. */
export function snapshot(path: string, target: string, onStep = noStep): void {
  if (isFolder(target)) throw new StoreError(`${target} is a folder: name a file in it, or give --keep.`);
  using db = openForReading(path, path);
  refuseSame(path, target);
  using copy = openReplacement(target, isAbandoned(basename(target).replace(DATED, '')));
  // It makes a file without a write-ahead log, which read-only media cannot hold.
  vacuumInto(db, { path, target, unfinished: copy.path, onStep });
  // Other runs take a copy that no process reads for one that was given up.
  using reading = openForReading(copy.path, target);
  reading.exec('BEGIN; SELECT generation FROM vitrine');
  describeErrors(target, copy.commit);
}

/** Between two steps a run has its copy closed, for longer if the machine is busy or the run is paused. */
const BETWEEN_STEPS_MS = 60_000;

const DATED = /\d{8}T\d{6}Z\.db$/;

/** Tells copies that were given up: of this database when no process has had them open for a minute, and of others when they are old. */
export const isAbandoned = (prefix: string) => (path: string) =>
  isOldUnfinished(path) ||
  (basename(path).startsWith(prefix) && isUnfinished(path, BETWEEN_STEPS_MS) && isFree(path));

function isFree(path: string): boolean {
  using lock = openExclusive(path, 0);
  return lock !== undefined;
}

export interface DatedSnapshot {
  readonly file: string;
  /** Older ones that it took the place of. */
  readonly removed: readonly string[];
  /** Why others could not be removed, a sentence each. */
  readonly warnings: readonly string[];
}

/**
 * A snapshot in a folder, named for its database and time. Only `keep` of them stay; the oldest go when the new one is
 * whole.
 */
export function datedSnapshot(
  path: string,
  folder: string,
  keep: number,
  onStep?: StepListener,
): DatedSnapshot {
  if (!isFolder(folder)) throw new StoreError(`${folder} is not a folder: create it first.`);
  const name = snapshotName(path);
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const file = join(folder, `${name}-${time}.db`);
  snapshot(path, file, onStep);
  const isDated = (found: string) =>
    found.startsWith(`${name}-`) && /^\d{8}T\d{6}Z\.db$/.test(found.slice(name.length + 1));
  const dated = readdirSync(folder).filter(isDated).sort();
  // A name in the future was given while the clock was ahead: that snapshot is older than this one.
  const before = dated.filter((found) => found < basename(file));
  const older = [...dated.filter((found) => found > basename(file)), ...before];
  const surplus = older.slice(0, Math.max(older.length + 1 - keep, 0)).map((found) => join(folder, found));
  return { file, ...removeFiles(surplus) };
}

/** The snapshot is in its place: what cannot be removed is named in a warning. */
function removeFiles(files: readonly string[]): Pick<DatedSnapshot, 'removed' | 'warnings'> {
  const removed: string[] = [];
  const warnings: string[] = [];
  for (const file of files)
    try {
      rmSync(file, { force: true });
      removed.push(file);
    } catch (error) {
      warnings.push(`${file} could not be removed: ${errorMessage(error)}`);
    }
  return { removed, warnings };
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
  readonly onStep?: StepListener | undefined;
}

export function vacuumInto(db: OpenDatabase, { path, target, unfinished, onStep = noStep }: CopyPaths): void {
  try {
    onStep(`copying ${path}`);
    // SQLite counts the copy as a change.
    db.pragma('query_only = OFF');
    db.prepare('VACUUM INTO ?').run(unfinished);
  } catch (error) {
    const ofSource = /^SQLITE_(CORRUPT|NOTADB|BUSY|ERROR)/.test(errorCode(error));
    throw toStoreError(ofSource ? path : target, error);
  }
}
