// What was found, a line for each check, and then how to mend what is broken.
import { brief } from '../records/normalise.ts';
import type { Check, Verdict } from './check.ts';

export function reportOf(verdicts: readonly { check: Check; verdict: Verdict }[]): string {
  const nameWidth = Math.max(...verdicts.map(({ check }) => check.name.length));
  const stateWidth = 'could not tell'.length;
  const lines = verdicts.map(
    ({ check, verdict }) =>
      `${verdict.state.padEnd(stateWidth)}  ${check.name.padEnd(nameWidth)}  ${printable(verdict.seen)}`,
  );
  const mends = verdicts
    .filter(({ verdict }) => verdict.state === 'broken' || verdict.advise)
    .map(({ check, verdict }) => {
      const title = verdict.state === 'broken' ? `To mend ${check.name}` : `If you want it: ${check.name}`;
      return `\n${title}\n  nginx:\n${indented(check.mend.nginx)}\n  Caddy:\n${indented(check.mend.caddy)}`;
    });
  return [...lines, ...mends].join('\n');
}

const indented = (text: string) =>
  text
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');

const printable = (text: string) => text.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd');

/** What somebody else wrote, fit to be shown. */
export const quoted = (text: string | undefined) => `"${brief(text ?? '')}"`;
