// What becomes of originals: counts it, reports each failure, and sums it up.
import { brief, counted } from '../records/printable.ts';
import type { MediaEntry } from '../stores/media.ts';

/** The option that names hosts. */
export const HOSTS_OPTION = '--media-hosts';
const NOT_NAMED = ` is not named by ${HOSTS_OPTION}`;
const LONGEST_SHOWN = 120;

/** `gone`: the host says that there is no such file. `notNamed`: its host may not be asked. */
export type Outcome = 'fetched' | 'gone' | 'placeholder' | 'notNamed' | 'failed';
type OutcomeCounts = Record<Outcome, number>;

export interface FetchResult {
  readonly originals: OutcomeCounts & { readonly present: number };
  readonly total: number;
  /** Why the run ended before the last original; undefined if it did not. */
  readonly stopped: string | undefined;
  /** What copies are linked with. */
  readonly mediaUrl: string;
  /** How many profiles and lists of items name other addresses now. */
  readonly relinked: number;
}

function classify({ file, reason }: Pick<MediaEntry, 'file' | 'reason'>): Outcome {
  if (file !== null || reason === null) return 'fetched';
  if (reason.startsWith('placeholder ')) return 'placeholder';
  if (reason.endsWith(NOT_NAMED)) return 'notNamed';
  return /^status (404|410)$/.test(reason) ? 'gone' : 'failed';
}

export type Outcomes = ReturnType<typeof createOutcomes>;

export function createOutcomes(onFault: (line: string) => void) {
  const counts: OutcomeCounts = { fetched: 0, gone: 0, placeholder: 0, notNamed: 0, failed: 0 };
  const hostsNotNamed = new Map<string, number>();

  return {
    counts,
    add(entry: MediaEntry): void {
      const outcome = classify(entry);
      counts[outcome]++;
      const { url, reason } = entry;
      if (outcome === 'notNamed' && reason !== null)
        hostsNotNamed.set(reason, (hostsNotNamed.get(reason) ?? 0) + 1);
      else if (outcome !== 'fetched' && outcome !== 'placeholder')
        onFault(`${brief(url, LONGEST_SHOWN)}: ${brief(reason, LONGEST_SHOWN)}`);
    },
    /** A line for each host that may not be asked: the lines of its pictures would hide all others. */
    reportUnnamedHosts(): void {
      const hosts = [...hostsNotNamed].sort(([, one], [, other]) => other - one);
      for (const [reason, pictures] of hosts)
        onFault(`${brief(reason, LONGEST_SHOWN)}: ${counted(pictures, 'picture')}`);
    },
  };
}

export function fetchSummary({ originals, relinked, mediaUrl }: FetchResult): string {
  const { fetched, present, gone, placeholder, notNamed, failed } = originals;
  const counts = [`${fetched} fetched`, `${present} already here`, `${gone} gone`, `${failed} failed`];
  if (placeholder > 0) counts.push(`${placeholder} refused as placeholders`);
  if (notNamed > 0) counts.push(`${notNamed} on hosts that are not named`);
  const linked = `copies are named under ${mediaUrl} (profiles and lists rebuilt: ${relinked})`;
  return `pictures: ${counts.join(', ')}${fetched + present > 0 ? `\n${linked}` : ''}`;
}

/** Why a run was not successful; undefined if it was. `isAnyHostNamed`: a host may be asked. */
export function fetchFailure(
  { originals: { failed, notNamed, present }, stopped, total }: FetchResult,
  isAnyHostNamed: boolean,
): string | undefined {
  const reasons: string[] = [];
  if (stopped !== undefined) reasons.push(`${stopped}; the same command continues where this run ended`);
  if (!isAnyHostNamed && notNamed > 0) reasons.push(`no host may be asked: name hosts with ${HOSTS_OPTION}`);
  if (failed > 0) reasons.push(`${failed} of ${counted(total + present, 'picture')} failed`);
  return reasons.length === 0 ? undefined : reasons.join('; ');
}
