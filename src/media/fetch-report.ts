// The summary of a fetch, and why it failed, as text.
import type { FetchResult, FetchRun } from './fetch-run.ts';
import { HOSTS_OPTION } from './outcomes.ts';

export function fetchSummary({ originals, relinked, placeholders }: FetchResult): string {
  const { fetched, present, gone, placeholder, notNamed, failed } = originals;
  const counts = [`${fetched} fetched`, `${present} already here`, `${gone} gone`, `${failed} failed`];
  if (placeholder > 0) counts.push(`${placeholder} refused as placeholders`);
  if (notNamed > 0) counts.push(`${notNamed} on hosts that are not named`);
  const lines = placeholders.map(
    ({ file, urls }) => `likely a placeholder: ${file}, from ${urls} addresses (--placeholder refuses it)`,
  );
  return [`pictures: ${counts.join(', ')}`, `profiles and lists rebuilt: ${relinked}`, ...lines].join('\n');
}

/** Why a run was not successful; undefined if it was. */
export function fetchFailure(
  { originals: { failed, notNamed, present }, stopped, total }: FetchResult,
  { mediaHosts, sites }: Pick<FetchRun, 'mediaHosts' | 'sites'>,
): string | undefined {
  const reasons: string[] = [];
  if (stopped !== undefined) reasons.push(`${stopped}; the same command continues where this run ended`);
  if (mediaHosts.length + sites.length === 0 && notNamed > 0)
    reasons.push(`no host may be asked: name hosts with ${HOSTS_OPTION}`);
  if (failed > 0) reasons.push(`${failed} of ${total + present} pictures failed`);
  return reasons.length === 0 ? undefined : reasons.join('; ');
}
