// The summary of a fetch, and why it failed, as text.
import { counted } from '../records/counted.ts';
import type { FetchResult, FetchRun } from './fetch-run.ts';
import { HOSTS_OPTION } from './outcomes.ts';

const PLACEHOLDERS_SHOWN = 5;

export function fetchSummary({ originals, relinked, mediaUrl, likelyPlaceholders }: FetchResult): string {
  const { fetched, present, gone, placeholder, notNamed, failed } = originals;
  const counts = [`${fetched} fetched`, `${present} already here`, `${gone} gone`, `${failed} failed`];
  if (placeholder > 0) counts.push(`${placeholder} refused as placeholders`);
  if (notNamed > 0) counts.push(`${notNamed} on hosts that are not named`);
  const lines = likelyPlaceholders
    .slice(0, PLACEHOLDERS_SHOWN)
    .map(
      ({ file, addresses }) =>
        `likely a placeholder: ${file}, from ${addresses} addresses (--placeholder refuses it)`,
    );
  return [
    `pictures: ${counts.join(', ')}`,
    `copies are named under ${mediaUrl} (profiles and lists rebuilt: ${relinked})`,
    ...lines,
  ].join('\n');
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
  if (failed > 0) reasons.push(`${failed} of ${counted(total + present, 'picture')} failed`);
  return reasons.length === 0 ? undefined : reasons.join('; ');
}
