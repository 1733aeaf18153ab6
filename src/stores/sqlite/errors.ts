// What SQLite and the file system report, as sentences for the operator.

import { accessSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs';
import { devNull } from 'node:os';
import { dirname } from 'node:path';
import { errorCode, toError } from '../../records/thrown.ts';
import { StoreError } from '../errors.ts';

/** Runs what touches a database file and turns SQLite's errors into sentences about it. */
export function describeErrors<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw toStoreError(path, error);
  }
}

/** An error that neither SQLite nor the system reports is a fault of this program, and stays as it is. */
export function toStoreError(path: string, error: unknown): Error {
  const fault = toError(error);
  if (fault instanceof StoreError || errorCode(fault) === '') return fault;
  return new StoreError(describeFault(path, errorCode(fault), fault.message), { cause: fault });
}

function describeFault(path: string, code: string, message: string): string {
  if (code === 'SQLITE_NOTADB') return `${path} is not a SQLite database.`;
  // One read that failed is damage to SQLite as well.
  if (code.startsWith('SQLITE_CORRUPT'))
    return `${path} is damaged, or could not be read: if \`vitrine check\` says it again, restore it from a copy.`;
  if (code.startsWith('SQLITE_FULL') || code === 'ENOSPC')
    return `The disk is full: nothing of this was written to ${path}.`;
  if (code === 'SQLITE_IOERR_SHMSIZE')
    return `The disk is full: there is no room for ${path}-shm, without which ${path} cannot be opened.`;
  if (code.startsWith('SQLITE_BUSY'))
    return `${path} is being written by another process; try again when it is done.`;
  if (code.startsWith('SQLITE_READONLY') && existsSync(`${path}-journal`))
    return `${path}-journal is left of a write that did not end: move it away if another file was put at ${path} since; otherwise, \`vitrine migrate\` undoes that write.`;
  if (code.startsWith('SQLITE_READONLY')) return `${path} cannot be written: ${findObstacle(path, 'write')}.`;
  if (code.startsWith('SQLITE_CANTOPEN')) return `${path} cannot be opened: ${findObstacle(path, 'read')}.`;
  if (code.startsWith('SQLITE_IOERR')) return `${path} cannot be read or written now: ${message}.`;
  return `${path}: ${message}`;
}

/** SQLite does not say why the system refused to open a file. Nothing here opens it, which would lose SQLite's locks. */
function findObstacle(path: string, purpose: 'read' | 'write'): string {
  if (isOutOfDescriptors()) return 'too many files are open (ulimit -n)';
  const folder = dirname(path);
  if (!existsSync(folder)) return 'its folder does not exist';
  if (!statSync(folder).isDirectory()) return `${folder} is a file, not a folder`;
  if (!existsSync(path))
    return notAllowed(folder, constants.W_OK, 'written') ?? 'the system does not say why';
  return (
    findForbidden(path, purpose) ??
    // SQLite makes files beside it, also to read it.
    notAllowed(folder, constants.W_OK, 'written, as files that do not come from `vitrine snapshot` need') ??
    'too many files may have been open, or the disk is failing or full; try again'
  );
}

/** The file, or one that a killed command of another user has left beside it. */
function findForbidden(path: string, purpose: 'read' | 'write'): string | undefined {
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`].filter((each) =>
    existsSync(each),
  )) {
    const unread = notAllowed(file, constants.R_OK, 'read');
    const closed = unread ?? (purpose === 'write' ? notAllowed(file, constants.W_OK, 'written') : undefined);
    if (closed !== undefined) return closed;
  }
  return undefined;
}

function isOutOfDescriptors(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return false;
  } catch (error) {
    return /^E[MN]FILE$/.test(errorCode(error));
  }
}

/** Undefined if it is allowed. */
function notAllowed(path: string, mode: number, what: string): string | undefined {
  try {
    accessSync(path, mode);
    return undefined;
  } catch (error) {
    if (errorCode(error) === 'EROFS') return `${path} is read-only, and cannot be ${what}`;
    return `${path}, which belongs to uid ${statSync(path).uid}, cannot be ${what} by uid ${process.getuid?.()}`;
  }
}
