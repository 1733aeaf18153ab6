// The file of rejected records. It is written synchronously: a store reports misfits in the midst of one long operation,
// and what waits for an asynchronous stream would pile up in memory.
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { asOutputErrors, openOutput } from '../files/output.ts';

const BUFFER_LENGTH = 64 * 1024;

export type Rejects = ReturnType<typeof openRejects>;

export function openRejects(file: string, inputs: readonly string[]) {
  const output = openOutput(file, inputs);
  const fd = asOutputErrors(file, () => openSync(output.path, output.flags, output.mode));
  let buffer = '';
  let fault: Error | undefined;

  /** Remembers the first error: it must not interrupt the store. */
  function attempt(write: () => void): void {
    if (fault !== undefined) return;
    try {
      asOutputErrors(file, write);
    } catch (error) {
      fault = error as Error;
    }
  }

  function flush(): void {
    attempt(() => writeFileSync(fd, buffer));
    buffer = '';
  }

  return {
    add(record: string): void {
      buffer += `${record}\n`;
      if (buffer.length >= BUFFER_LENGTH) flush();
    },
    /** Why not every record could be written. */
    fault: () => fault,
    throwFault(): void {
      if (fault !== undefined) throw fault;
    },
    /** Puts the file in its place, unless there was a fault. */
    commit(): void {
      flush();
      attempt(output.commit);
    },
    /** Closes the file, and removes it unless it was committed. */
    [Symbol.dispose](): void {
      closeSync(fd);
      output.discard();
    },
  };
}
