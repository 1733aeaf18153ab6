// What was thrown: anything can be, and little of it says what it is.

/** The code of a system, of SQLite, or the SQLSTATE; empty when there is none. */
export function errorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/** As an error. Only errors of Node have the members of NodeJS.ErrnoException, and all of these may be missing. */
export const toError = (error: unknown): NodeJS.ErrnoException =>
  error instanceof Error ? error : new Error(String(error));

export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
