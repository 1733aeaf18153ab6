// Reads values that were thrown. JavaScript can throw anything, so their type is unknown.

/** The error code of the system or of SQLite, or the SQLSTATE of PostgreSQL. Empty if there is none. */
export function errorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/** The value as an Error. Its type has the members of Node's errors, such as `syscall`, which other errors lack. */
export const toError = (error: unknown): NodeJS.ErrnoException =>
  error instanceof Error ? error : new Error(String(error));

export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
