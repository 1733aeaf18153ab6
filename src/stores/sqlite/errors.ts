// What SQLite and the file system report, as sentences for the operator.
import { existsSync } from 'node:fs';
import { StoreError } from '../errors.ts';

/** Runs what touches a database file and turns SQLite's errors into sentences about it. */
export function describeErrors<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw toStoreError(path, error);
  }
}

export const toStoreError = (path: string, error: unknown): StoreError =>
  error instanceof StoreError ? error : new StoreError(errorMessage(path, error), { cause: error });

function errorMessage(path: string, error: unknown): string {
  const { code = '', message } = error as { code?: string; message: string };
  if (code === 'SQLITE_NOTADB') return `${path} is not a SQLite database.`;
  if (code.startsWith('SQLITE_CORRUPT')) return `${path} is damaged: restore it from a copy.`;
  if (code.startsWith('SQLITE_FULL') || code === 'ENOSPC')
    return `The disk is full: nothing of this was written to ${path}.`;
  if (code.startsWith('SQLITE_BUSY'))
    return `${path} is being written by another process; try again when it is done.`;
  if (code.startsWith('SQLITE_READONLY') && existsSync(`${path}-journal`))
    return `${path}-journal is left of a write that did not end: \`vitrine migrate\` undoes that write; remove the file if it belongs to another database.`;
  if (code.startsWith('SQLITE_READONLY')) return `${path} cannot be written: it is read-only.`;
  if (code.startsWith('SQLITE_CANTOPEN') || error instanceof TypeError)
    return `${path} cannot be opened: the folder must exist, the file must be readable, and on read-only media it must come from \`vitrine snapshot\`.`;
  return `${path}: ${message}`;
}
