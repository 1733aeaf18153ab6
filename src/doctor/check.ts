// What a check is, and what it may find.
import type { Patient } from './patient.ts';

export interface Verdict {
  readonly state: 'ok' | 'broken' | 'could not tell';
  /** What was seen, in plain words. */
  readonly seen: string;
  /** Whether the mend is worth showing although nothing is broken. */
  readonly advise?: boolean;
}

/** Lines of configuration that put it right. */
export interface Mend {
  readonly nginx: string;
  readonly caddy: string;
}

export interface Check {
  readonly name: string;
  readonly look: (patient: Patient) => Promise<Verdict>;
  readonly mend: Mend;
}

export const ok = (seen: string): Verdict => ({ state: 'ok', seen });
export const broken = (seen: string): Verdict => ({ state: 'broken', seen });
export const unclear = (seen: string): Verdict => ({ state: 'could not tell', seen });

export const NEEDS_USER = unclear('takes a user who is there: give --user NAME');
