// Output files. One that would destroy an input or a database is refused; the others are written beside their place and
// appear when they are whole.
import {
  closeSync,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { getSystemErrorMessage } from 'node:util';

/** Nothing was written, or not everything: a sentence for the operator. */
export class OutputError extends Error {
  override name = 'OutputError';
}

export interface OutputFile {
  /** Where to write. */
  readonly path: string;
  /** False for devices and pipes, which are written directly and cannot be synchronised. */
  readonly isRegular: boolean;
  /** The permissions of the file that is replaced. */
  readonly mode: number | undefined;
  /** Puts the whole file in its place. */
  commit(): void;
  /** Removes what was written, unless it was committed. */
  discard(): void;
}

/** `inputs` are the files that are being read; `-` is standard input. */
export function openOutput(file: string, inputs: readonly string[] = []): OutputFile {
  const existing = statOf(file);
  if (existing?.isDirectory()) throw new OutputError(`${file} is a folder: give the name of a file`);
  if (existing !== undefined && !existing.isFile())
    return { path: file, isRegular: false, mode: undefined, commit() {}, discard() {} };

  const target = existing === undefined ? file : realpathSync(file);
  const unfinished = `${target}.unfinished`;
  for (const path of [target, unfinished]) refuseLoss(path, inputs);
  return {
    path: unfinished,
    isRegular: true,
    mode: existing === undefined ? undefined : existing.mode & 0o777,
    commit: () => asOutputErrors(file, () => renameSync(unfinished, target)),
    discard: () => rmSync(unfinished, { force: true }),
  };
}

/** Errors of the file system as sentences that name the output. */
export function asOutputErrors<T>(file: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw outputError(file, error);
  }
}

export function outputError(file: string, error: unknown): unknown {
  const { errno } = error as NodeJS.ErrnoException;
  if (errno === undefined) return error;
  return new OutputError(`cannot write ${file}: ${getSystemErrorMessage(errno)}`, { cause: error });
}

function refuseLoss(path: string, inputs: readonly string[]): void {
  const stats = statOf(path);
  if (stats !== undefined && inputs.some((input) => isSameFile(stats, statOf(input))))
    throw new OutputError(`${path} is one of the files to import: write to another file`);
  const database = path.replace(/-(wal|shm|journal)$/, '');
  if (isDatabase(database))
    throw new OutputError(
      `${path} ${database === path ? 'is' : 'belongs to'} a database: write to another file`,
    );
}

function statOf(file: string): Stats | undefined {
  return file === '-' ? fstatSync(0) : statSync(file, { throwIfNoEntry: false });
}

const isSameFile = (one: Stats, other: Stats | undefined) =>
  one.isFile() && one.ino === other?.ino && one.dev === other.dev;

const SQLITE_HEADER = 'SQLite format 3\0';

function isDatabase(path: string): boolean {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
  const head = Buffer.alloc(SQLITE_HEADER.length);
  const fd = openSync(path, 'r');
  try {
    readSync(fd, head);
  } finally {
    closeSync(fd);
  }
  return head.toString('latin1') === SQLITE_HEADER;
}
