// Reports the faults of an import, counts the faulty records, and writes them to a file.
import { closeSync, fstatSync, fsyncSync, openSync, writeFileSync } from 'node:fs';
import { asOutputErrors, OutputError, openOutput } from '../files/output.ts';
import type { Entry } from '../formats/entry.ts';
import type { Fault } from '../records/normalise.ts';
import { brief, printable } from '../records/printable.ts';
import type { Misfit } from '../stores/load.ts';

const LONGEST_RETURNED = 300;
/** A place is a file's index times this, plus the line: no file has that many lines, and no import that many files. */
const LINES = 2 ** 32;

export const encodePlace = (file: number, line: number) => file * LINES + line;

/** A place as `FILE:LINE`. */
export const describePlace = (files: readonly string[], place: number) =>
  `${displayName(files[Math.floor(place / LINES)] as string)}:${place % LINES}`;

export type FaultReport = ReturnType<typeof createFaultReport>;

export function createFaultReport(
  files: readonly string[],
  onFault: (line: string) => void,
  rejects: Rejects | undefined,
  isMapped: boolean,
) {
  let records = 0;

  function tell(place: number, { member, reason, got }: Fault, returned?: string): void {
    const value = got === '' ? '' : `, got "${got}"`;
    const origin = returned === undefined ? '' : `; the map returned ${brief(returned, LONGEST_RETURNED)}`;
    onFault(printable(`${describePlace(files, place)}: ${member}: ${reason}${value}${origin}`));
  }

  return {
    /** How many records were faulty. */
    count: () => records,
    entry(place: number, entry: Entry, found: readonly Fault[]): void {
      records++;
      const text = entry.text();
      for (const fault of found) tell(place, fault, entry.isMapped ? text : undefined);
      rejects?.add(text);
    },
    misfit(misfit: Misfit): void {
      records++;
      tell(misfit.place, misfit, isMapped ? misfit.record : undefined);
      rejects?.add(misfit.record);
    },
  };
}

export const displayName = (file: string) => (file === '-' ? 'standard input' : file);

export type Rejects = ReturnType<typeof openRejects>;

/**
 * A file of records or users that were left out. It is written synchronously: a store reports misfits in the midst of one
 * long operation, and what waits for an asynchronous stream would pile up in memory.
 */
export function openRejects(file: string, inputs: readonly string[]) {
  const output = openOutput(file, inputs);
  const fd = asOutputErrors(file, () => openSync(output.path, output.flags, output.mode));
  let isKept = false;
  return {
    add: (record: string) => asOutputErrors(file, () => writeFileSync(fd, `${record}\n`)),
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
        throw new OutputError(`${(error as Error).message}; what was left out is in ${output.path}`);
      }
    },
    /** Closes the file, and removes it unless it was committed. */
    [Symbol.dispose](): void {
      closeSync(fd);
      if (!isKept) output.discard();
    },
  };
}
