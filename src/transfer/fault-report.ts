// Reports the first faults of an import, counts the others, and keeps the faulty records.
import type { Fault } from '../records/normalise.ts';
import { printable } from '../records/printable.ts';
import type { Misfit } from '../stores/store.ts';
import type { Entry } from './entry.ts';
import type { Rejects } from './rejects.ts';

const FAULTS_SHOWN = 20;
/** A place is a file's index times this, plus the line: no file has so many lines. */
const LINES = 2 ** 40;

export const placeOf = (file: number, line: number) => file * LINES + line;

export type FaultReport = ReturnType<typeof createFaultReport>;

export function createFaultReport(
  files: readonly string[],
  onFault: (line: string) => void,
  rejects: Rejects | undefined,
) {
  let records = 0;
  let faults = 0;

  function tell(place: number, { member, reason, got }: Fault): void {
    faults++;
    if (faults > FAULTS_SHOWN) return;
    const file = nameOf(files[Math.floor(place / LINES)] as string);
    const value = got === '' ? '' : `, got "${got}"`;
    onFault(printable(`${file}:${place % LINES}: ${member}: ${reason}${value}`));
  }

  return {
    /** How many records were faulty. */
    count: () => records,
    entry(place: number, { text }: Entry, found: readonly Fault[]): void {
      records++;
      for (const fault of found) tell(place, fault);
      rejects?.add(text());
    },
    misfit(misfit: Misfit): void {
      records++;
      tell(misfit.place, misfit);
      rejects?.add(misfit.record);
    },
    close(): void {
      if (faults > FAULTS_SHOWN) onFault(`… and ${faults - FAULTS_SHOWN} more`);
    },
  };
}

export const nameOf = (file: string) => (file === '-' ? 'standard input' : file);
