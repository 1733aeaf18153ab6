// Sends the requests of a front-end to a public address, and reports what a proxy on the way broke and how to fix it.
import { counted, printable } from '../../records/printable.ts';
import type { Variant } from '../../variants.ts';
import { createHttpClient, SiteError } from '../remote/http-client.ts';
import { ADDRESS_CHECKS } from './address-checks.ts';
import { CACHE_CHECKS } from './cache-checks.ts';
import { RESPONSE_CHECKS, TRANSPORT_CHECKS } from './response-checks.ts';
import {
  type Check,
  createSend,
  type ExaminedSite,
  examineSite,
  type Finding,
  NEEDS_USER,
  unchecked as notMade,
} from './site.ts';

export interface DoctorOptions {
  readonly base: URL;
  readonly variant?: Variant;
  readonly user?: string;
  /** Milliseconds for one request. */
  readonly timeout: number;
}

/** Every check, in the order of the report. */
export const CHECKS: readonly Check[] = [
  ...ADDRESS_CHECKS,
  ...RESPONSE_CHECKS,
  ...CACHE_CHECKS,
  ...TRANSPORT_CHECKS,
];

/** The remedy for published files. */
const AS_PUBLISHED =
  'Use the configuration that `vitrine publish` wrote as it is, and reload the host after changes of settings.';

/** Those that are printed, and those that the guide has a row for, as they call themselves in Server or Via. */
const PRINTED = ['nginx', 'Caddy'];
export const OTHERS = ['Apache', 'lighttpd', 'Squid', 'Varnish'];
const PART = 'the guide Proxies, part "Any other proxy"';

/** Where to look, by the proxies that the first response names. Any of them may have broken it. */
function nameModel({ first }: ExaminedSite): string {
  if (first instanceof SiteError) return '';
  const named = [...first.all('server'), ...first.all('via')].join(' ').toLowerCase();
  const proxies = [...PRINTED, ...OTHERS].filter((name) => named.includes(name.toLowerCase()));
  if (proxies.length === 0)
    return `\nCompare your proxy with what \`vitrine print nginx\` or \`vitrine print caddy\` prints, or with ${PART}.`;
  return `\n${proxies.map(compareProxy).join('\n')}`;
}

const compareProxy = (proxy: string) =>
  OTHERS.includes(proxy)
    ? `Compare your ${proxy} with its row in ${PART}.`
    : `Compare your ${proxy} with what \`vitrine print ${proxy.toLowerCase()}\` prints.`;

interface CheckResult {
  readonly check: Check;
  readonly finding: Finding;
}

export async function diagnose({ base, variant, user, timeout }: DoctorOptions) {
  const client = createHttpClient({ origin: base, timeout, limit: timeout, connections: 1 });
  try {
    const site = await examineSite(createSend(client), base, variant, user);
    const findings: CheckResult[] = [];
    const isMade = ({ ofProxy }: Check) => site.published === undefined || !ofProxy;
    for (const check of CHECKS.filter(isMade)) findings.push({ check, finding: await runCheck(check, site) });
    const broken = findings.filter(({ finding }) => finding.state === 'broken').length;
    const unchecked = findings.filter(({ finding }) => finding.unchecked).length;
    const report = formatReport(findings, site);
    return { report, findings, broken, unchecked, failure: describeFailure(broken, unchecked) };
  } finally {
    client.close();
  }
}

/** Why the site does not count as healthy; undefined if it does. */
function describeFailure(broken: number, unchecked: number): string | undefined {
  if (broken > 0) return `${counted(broken, 'check')} found something broken`;
  if (unchecked > 0) return `${counted(unchecked, 'check')} could not be made`;
  return undefined;
}

async function runCheck(check: Check, site: ExaminedSite): Promise<Finding> {
  if (!site.found && check.name !== 'address') return notMade('Vitrine was not found there');
  if (check.needsUser && site.user === undefined) return NEEDS_USER;
  try {
    return await check.run(site);
  } catch (error) {
    if (error instanceof SiteError) return notMade(error.message);
    throw error;
  }
}

const STATE_WIDTH = 'could not tell'.length;

/** A line for each check, then remedies for what is broken. */
function formatReport(findings: readonly CheckResult[], site: ExaminedSite): string {
  const { published } = site;
  const nameWidth = Math.max(...findings.map(({ check }) => check.name.length));
  const lines = findings.map(
    ({ check, finding }) =>
      `${finding.state.padEnd(STATE_WIDTH)}  ${check.name.padEnd(nameWidth)}  ${printable(finding.text)}`,
  );
  const remedies = findings.flatMap(({ check, finding: { state, suggest, advice = check.advice } }) => {
    if (state !== 'broken' && !suggest) return [];
    const title = `\n${state === 'broken' ? 'To fix' : 'Optional,'} ${check.name}`;
    return [`${title}\n  ${published === undefined ? advice : AS_PUBLISHED}`];
  });
  const isProxied = remedies.length > 0 && published === undefined;
  return [...lines, ...remedies, ...(isProxied ? [nameModel(site)] : [])].join('\n');
}
