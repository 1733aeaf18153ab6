// Output files. Each is written under a name of its own beside its place and appears when it is whole, so of several
// writers the last one wins. One that would destroy an input or a database is refused.

import { randomUUID } from 'node:crypto';
import {
  closeSync,
  createWriteStream,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { getSystemErrorMessage } from 'node:util';
import { errorMessage, toError } from '../records/thrown.ts';

/** Nothing was written, or not everything: a sentence for the operator. */
export class OutputError extends Error {
  override name = 'OutputError';
}

/**
 * The path, flags and mode to open for writing; `commit` puts the whole file in its place, durably, and `discard` removes
 * what was written and not committed. `inputs` are the files that are being read; `-` is standard input.
 */
export function openOutput(file: string, inputs: readonly string[] = []) {
  const existing = statIfAny(file);
  if (existing?.isDirectory()) throw new OutputError(`${file} is a folder: give the name of a file`);
  // Devices and pipes are written directly, and cannot be synchronised.
  if (existing !== undefined && !existing.isFile())
    return { path: file, flags: 'w', mode: undefined, commit() {}, discard() {} };
  refuseLoss(existing === undefined ? file : realpathSync(file), inputs);
  const { path, commit, discard } = openReplacement(file);
  const mode = existing === undefined ? undefined : existing.mode & 0o777;
  return { path, flags: 'wx', mode, commit: () => asOutputErrors(file, commit), discard };
}

export type LinesOutput = ReturnType<typeof openLines>;

/**
 * A file of lines, such as records that were left out. It is written synchronously: a store reports misfits in the midst of
 * one long operation, and what waits for an asynchronous stream would pile up in memory.
 */
export function openLines(file: string, inputs: readonly string[] = []) {
  const output = openOutput(file, inputs);
  const fd = asOutputErrors(file, () => openSync(output.path, output.flags, output.mode));
  let isKept = false;
  return {
    add: (line: string) => asOutputErrors(file, () => writeFileSync(fd, `${line}\n`)),
    /** Makes what was added durable. Devices and pipes cannot be. */
    sync(): void {
      if (fstatSync(fd).isFile()) asOutputErrors(file, () => fsyncSync(fd));
    },
    /** Puts the file in its place. If that fails, the unfinished file stays, and the error names it. */
    commit(): void {
      isKept = true;
      try {
        output.commit();
      } catch (error) {
        throw new OutputError(`${errorMessage(error)}; the lines are in ${output.path}`);
      }
    },
    /** Closes the file, and removes it unless it was committed. */
    [Symbol.dispose](): void {
      closeSync(fd);
      if (!isKept) output.discard();
    },
  };
}

/** A new file that will replace another one, whatever that is. `isLeftover` tells what else is removed beside it. */
export function openReplacement(file: string, isLeftover = isOldUnfinished) {
  const target = statIfAny(file) === undefined ? file : realpathSync(file);
  const path = nameUnfinished(target);
  removeLeftovers(dirname(target), isLeftover);
  return {
    path,
    commit(): void {
      sync(path);
      renameSync(path, target);
      try {
        sync(dirname(target));
      } catch {
        // The file is in its place, and whole: this is no failure of the command.
      }
    },
    discard: () => tryRemove(path),
    [Symbol.dispose]: () => tryRemove(path),
  };
}

/** What cannot be removed is no failure of what was done, and not why something else failed: a later run removes it. */
function tryRemove(path: string): void {
  try {
    removeAll(path);
  } catch {}
}

function sync(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** The name of a file while it is written. */
export const nameUnfinished = (file: string) => `${file}.${randomUUID()}.unfinished`;

/** What SQLite leaves beside a copy that it cannot finish. */
const OF_SQLITE = ['-journal', '-wal', '-shm'];
const UNFINISHED = new RegExp(`\\.[0-9a-f-]{36}\\.unfinished(${OF_SQLITE.join('|')})?$`);

/** Whether this is a file of a run, and nothing was written to it for this long. */
export const isUnfinished = (path: string, milliseconds: number) =>
  UNFINISHED.test(path) && Date.now() - statSync(path).mtimeMs > milliseconds;

/** No run pauses for so long while it writes a file. */
const LEFTOVER_MS = 24 * 60 * 60 * 1000;

export const isOldUnfinished = (path: string) => isUnfinished(path, LEFTOVER_MS);

/** Removes what runs that were killed have left in a folder. */
export function removeLeftovers(
  folder: string,
  isLeftover: (path: string) => boolean = isOldUnfinished,
): void {
  for (const path of listFolder(folder))
    try {
      if (isLeftover(path)) removeAll(path);
    } catch {
      // Another run removed it first, or it cannot be read.
    }
}

/** Empty if the folder cannot be read: writing says what is wrong with it. */
function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** A file, with what SQLite keeps beside it, or a folder. */
function removeAll(path: string): void {
  for (const suffix of ['', ...OF_SQLITE]) rmSync(path + suffix, { recursive: true, force: true });
}

/** Errors of the file system as sentences that name the output. */
function asOutputErrors<T>(file: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw outputError(file, error);
  }
}

export function outputError(file: string, error: unknown): unknown {
  const { errno } = toError(error);
  if (errno === undefined) return error;
  return new OutputError(`cannot write ${file}: ${getSystemErrorMessage(errno)}`, { cause: error });
}

function refuseLoss(path: string, inputs: readonly string[]): void {
  const stats = statIfAny(path);
  if (stats !== undefined && inputs.some((input) => isSameFile(stats, statInput(input))))
    throw new OutputError(`${path} is one of the files to read: write to another file`);
  const database = path.replace(/-(wal|shm|journal)$/, '');
  if (isDatabase(database))
    throw new OutputError(
      `${path} ${database === path ? 'is' : 'belongs to'} a database: write to another file`,
    );
}

const statIfAny = (file: string): Stats | undefined => statSync(file, { throwIfNoEntry: false });
const statInput = (file: string) => (file === '-' ? fstatSync(0) : statIfAny(file));

const isSameFile = (one: Stats, other: Stats | undefined) =>
  one.isFile() && one.ino === other?.ino && one.dev === other.dev;

const SQLITE_HEADER = 'SQLite format 3\0';

export function isDatabase(path: string): boolean {
  if (!statIfAny(path)?.isFile()) return false;
  const head = Buffer.alloc(SQLITE_HEADER.length);
  const fd = openSync(path, 'r');
  try {
    readSync(fd, head);
  } finally {
    closeSync(fd);
  }
  return head.toString('latin1') === SQLITE_HEADER;
}

/** Makes a folder and those that it is in. Not with `recursive`: where none can be made, as in /proc, Node would try for ever. */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process may have made it just now.
    if (!existsSync(path)) throw error;
  }
}

export type Stdout = Writable & { readonly fd?: number; readonly isTTY?: boolean };

/** Keeps pace with the reader. */
export async function writeToStdout(lines: Readable, stdout: Stdout, signal?: AbortSignal): Promise<void> {
  try {
    const file = findDescriptor(stdout);
    // Node's own stream takes a partial write, as on a disk that is almost full, for a whole one.
    if (file !== undefined)
      await pipeline(lines, createWriteStream('', { fd: file, autoClose: false }), { signal });
    else await pipeline(lines, stdout, { end: false, signal });
  } catch (error) {
    throw outputError('to standard output', error);
  }
}

/** The descriptor, if standard output is neither a terminal nor a pipe. */
function findDescriptor({ fd, isTTY }: Stdout): number | undefined {
  if (fd === undefined || isTTY) return undefined;
  const stats = fstatSync(fd);
  return stats.isFIFO() || stats.isSocket() ? undefined : fd;
}
