// The findings, a line for each check, then remedies for what is broken.
import { brief, printable } from '../records/printable.ts';
import type { Check, Finding, Remedy } from './check.ts';

const PROXIES: readonly [name: string, key: keyof Remedy][] = [
  ['nginx', 'nginx'],
  ['Caddy', 'caddy'],
  ['HAProxy', 'haproxy'],
  ['Varnish', 'varnish'],
];
const STATE_WIDTH = 'could not tell'.length;

export function formatReport(findings: readonly { check: Check; finding: Finding }[]): string {
  const nameWidth = Math.max(...findings.map(({ check }) => check.name.length));
  const lines = findings.map(
    ({ check, finding }) =>
      `${finding.state.padEnd(STATE_WIDTH)}  ${check.name.padEnd(nameWidth)}  ${printable(finding.text)}`,
  );
  const remedies = findings
    .filter(({ finding }) => finding.state === 'broken' || finding.suggest)
    .map(({ check, finding }) => formatRemedy(check, finding));
  return [...lines, ...remedies].join('\n');
}

function formatRemedy({ name, remedy }: Check, { state }: Finding): string {
  const title = state === 'broken' ? `To fix ${name}` : `Optional, ${name}`;
  const texts = PROXIES.map(([proxy, key]) => `  ${proxy}:\n${indented(remedy[key])}`);
  return `\n${title}\n${texts.join('\n')}`;
}

const indented = (text: string) => text.replace(/^/gm, '    ');

/** Text of the other server, safe to print. */
export const quoted = (text: string | undefined) => `"${brief(text ?? '')}"`;
