// Sends the requests of a front-end to a public address, and reports what a proxy on the way broke and how to fix it.
import { createHttpClient, RequestError } from '../remote/http-client.ts';
import type { Variant } from '../variants.ts';
import { ADDRESS_CHECKS } from './address-checks.ts';
import { CACHE_CHECKS } from './cache-checks.ts';
import { type Check, type Finding, unchecked } from './check.ts';
import { createSend, type Deployment, findDeployment } from './deployment.ts';
import { formatReport } from './report.ts';
import { RESPONSE_CHECKS } from './response-checks.ts';
import { TRANSPORT_CHECKS } from './transport-checks.ts';

export interface DoctorOptions {
  readonly base: URL;
  readonly variant?: Variant;
  readonly user?: string;
  /** Milliseconds for one request. */
  readonly timeout: number;
}

const MAX_BODY = 4 * 1024 * 1024;

/** Every check, in the order of the report. */
export const CHECKS: readonly Check[] = [
  ...ADDRESS_CHECKS,
  ...RESPONSE_CHECKS,
  ...CACHE_CHECKS,
  ...TRANSPORT_CHECKS,
];

export interface Diagnosis {
  readonly report: string;
  readonly broken: number;
  /** Checks that could not be made. */
  readonly unchecked: number;
}

export async function diagnose({ base, variant, user, timeout }: DoctorOptions): Promise<Diagnosis> {
  const client = createHttpClient({ origin: base, timeout, maxBytes: MAX_BODY, connections: 1 });
  try {
    const deployment = await findDeployment(createSend(client), base, variant, user);
    const findings: { check: Check; finding: Finding }[] = [];
    for (const check of CHECKS) findings.push({ check, finding: await runCheck(check, deployment) });
    return {
      report: formatReport(findings),
      broken: findings.filter(({ finding }) => finding.state === 'broken').length,
      unchecked: findings.filter(({ finding }) => finding.unchecked).length,
    };
  } finally {
    client.close();
  }
}

async function runCheck(check: Check, deployment: Deployment): Promise<Finding> {
  if (!deployment.found && check.name !== 'address') return unchecked('Vitrine was not found there');
  try {
    return await check.run(deployment);
  } catch (error) {
    if (error instanceof RequestError) return unchecked(error.message);
    throw error;
  }
}

/** Why a diagnosis does not count as healthy; undefined if it does. */
export function diagnosisFailure({ broken, unchecked: missing }: Diagnosis): string | undefined {
  if (broken > 0) return `${broken} ${broken === 1 ? 'check' : 'checks'} found something broken`;
  if (missing > 0) return `${missing} ${missing === 1 ? 'check' : 'checks'} could not be made`;
  return undefined;
}
