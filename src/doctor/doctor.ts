// Asks a public address what a front-end would, and tells what a proxy on the way broke and how to mend it.
import { AskError, createAsker } from '../remote/http-client.ts';
import type { Variant } from '../remote/lookups.ts';
import { ADDRESS_CHECKS } from './address-checks.ts';
import { ANSWER_CHECKS } from './answer-checks.ts';
import { CACHE_CHECKS } from './cache-checks.ts';
import { type Check, unclear, type Verdict } from './check.ts';
import { findVariant, type Patient } from './patient.ts';
import { reportOf } from './report.ts';
import { TRANSPORT_CHECKS } from './transport-checks.ts';

export interface DoctorOptions {
  readonly base: URL;
  readonly variant?: Variant;
  readonly user?: string;
  /** Milliseconds for one request. */
  readonly timeout: number;
}

const LONGEST_BODY = 4 * 1024 * 1024;

/** Every check, in the order in which they are told. */
export const CHECKS: readonly Check[] = [
  ...ADDRESS_CHECKS,
  ...ANSWER_CHECKS,
  ...CACHE_CHECKS,
  ...TRANSPORT_CHECKS,
];

export interface Examination {
  readonly report: string;
  readonly broken: number;
}

export async function examine({ base, variant, user, timeout }: DoctorOptions): Promise<Examination> {
  const asker = createAsker({ origin: base, timeout, maxBytes: LONGEST_BODY, connections: 1 });
  try {
    const patient = await findVariant(asker, base, variant, user);
    const verdicts: { check: Check; verdict: Verdict }[] = [];
    for (const check of CHECKS) verdicts.push({ check, verdict: await verdictOf(check, patient) });
    const broken = verdicts.filter(({ verdict }) => verdict.state === 'broken').length;
    return { report: reportOf(verdicts), broken };
  } finally {
    asker.close();
  }
}

async function verdictOf(check: Check, patient: Patient): Promise<Verdict> {
  if (!patient.found && check.name !== 'address') return unclear('nothing of this kind was found there');
  try {
    return await check.look(patient);
  } catch (error) {
    if (error instanceof AskError) return unclear(error.message);
    throw error;
  }
}
