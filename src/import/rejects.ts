// A file of records or users that were left out. It is written synchronously: a store reports misfits in the midst of one
// long operation, and what waits for an asynchronous stream would pile up in memory.
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { asOutputErrors, openOutput } from '../files/output.ts';

export type Rejects = ReturnType<typeof openRejects>;

export function openRejects(file: string, inputs: readonly string[]) {
  const output = openOutput(file, inputs);
  const fd = asOutputErrors(file, () => openSync(output.path, output.flags, output.mode));
  return {
    add: (record: string) => asOutputErrors(file, () => writeFileSync(fd, `${record}\n`)),
    /** Puts the file in its place. */
    commit: output.commit,
    /** Closes the file, and removes it unless it was committed. */
    [Symbol.dispose](): void {
      closeSync(fd);
      output.discard();
    },
  };
}
