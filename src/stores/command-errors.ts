// The errors that a command ends with, as sentences that say what to do. They are below cli/ since imports and tools throw and
// explain them, too. The exit codes are in cli/exit-codes.ts.
import { ConfigError } from '../config/setting-values.ts';
import { toError } from '../records/thrown.ts';
import { StoreError } from './errors.ts';

/** The command ran and did not succeed. */
export class CommandFailed extends Error {}
/** The command line makes no sense. */
export class UsageError extends Error {}

/** An error as sentences. */
export function explain(error: unknown): readonly string[] {
  // Something could not be closed either.
  if (error instanceof SuppressedError) return explain(error.suppressed);
  if (error instanceof ConfigError) return error.mistakes;
  if (error instanceof UsageError || error instanceof CommandFailed || error instanceof StoreError)
    return [error.message];
  // A fault of this program: mending it needs the stack.
  if (isProgramFault(error)) return (error.stack ?? error.message).split('\n');
  return [describe(toError(error))];
}

/** Errors of Node and of requests have a code or a cause. */
const isProgramFault = (error: unknown): error is Error =>
  (error instanceof TypeError || error instanceof ReferenceError) &&
  error.cause === undefined &&
  !('code' in error);

/** System calls. */
const CHANGES = /^(?:mkdir|mkdtemp|rename|rm|rmdir|symlink|link|unlink)$/;

function describe(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT' && error.path !== undefined)
    return error.syscall === 'mkdir'
      ? `${error.path} cannot be created: choose a folder on a disk`
      : `${error.path} does not exist`;
  if (error.code === 'EACCES' && error.path !== undefined)
    return `this user may not ${CHANGES.test(error.syscall ?? '') ? 'change' : 'read'} ${error.path}`;
  if (error.code === 'SQLITE_READONLY' || error.code === 'SQLITE_READONLY_DIRECTORY')
    return 'this user may not write the database: run the command as its owner, or as root';
  // Files of a database are named by StoreErrors.
  if (error.code === 'SQLITE_FULL')
    return 'the disk of temporary files is full: make room there, or set SQLITE_TMPDIR to a folder on another disk';
  if (error.code === 'ENOSPC') return 'the disk is full: make room, and run the command again';
  if (error.code === 'ENOTDIR' && error.path !== undefined)
    return `${error.path}: a part of this path is a file, not a folder`;
  if (error.code === 'EEXIST' && error.path !== undefined) return `${error.path} exists already`;
  if (error.code === 'EISDIR') return `${error.path ?? 'that'} is a folder`;
  if (error.code === 'EACCES' && 'port' in error && Number(error.port) > 0)
    return `cannot listen: this user may not open port ${error.port}, since it is below 1024. Set PORT to a higher one, such as 8080, and let a proxy take ${error.port}`;
  // Node's message ends with the address.
  if (error.syscall === 'listen' || error.syscall === 'bind')
    return `${error.message.replace(/^.*?: /, 'cannot listen: ')}; set a free port, and an address of this machine`;
  return error.message;
}
