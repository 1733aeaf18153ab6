// What becomes of originals: counts it, reports each failure, and sums it up.
import { brief, counted, joinReasons } from '../records/printable.ts';
import type { MediaEntry } from '../stores/media.ts';

/** The option that names hosts. */
export const HOSTS_OPTION = '--media-hosts';
const LONGEST_SHOWN = 120;

/** `gone`: the host says that there is no such file. `notNamed`: its host may not be asked. */
export type FetchOutcome = 'fetched' | 'gone' | 'placeholder' | 'notNamed' | 'failed';

export type Outcomes = ReturnType<typeof createOutcomes>;

export function createOutcomes(onFault: (line: string) => void) {
  const counts = { fetched: 0, present: 0, gone: 0, placeholder: 0, notNamed: 0, failed: 0 };
  const reported = new Set<string>();

  return {
    counts,
    add(entry: MediaEntry, outcome: FetchOutcome): void {
      counts[outcome]++;
      if (outcome === 'fetched' || outcome === 'placeholder') return;
      const reason = brief(entry.reason, LONGEST_SHOWN);
      // Once for each host: the lines of its pictures would hide all others.
      const line = outcome === 'notNamed' ? reason : `${brief(entry.url, LONGEST_SHOWN)}: ${reason}`;
      if (outcome !== 'notNamed' || !reported.has(line)) onFault(line);
      if (outcome === 'notNamed') reported.add(line);
    },
  };
}

interface FetchResult {
  readonly originals: Outcomes['counts'];
  /** How many were to be fetched. */
  readonly total: number;
  /** What copies are linked with. */
  readonly mediaUrl: string;
  /** How many profiles and lists of items name other addresses now. */
  readonly relinked: number;
  /** Of how many copies small files were made. */
  readonly shrunk: number;
  /** Why the run ended before the last original; undefined if it did not. */
  readonly stopped: string | undefined;
}

/** `isAnyHostNamed`: a host may be asked. */
export function describeFetch(result: FetchResult, isAnyHostNamed: boolean) {
  const { originals, total, mediaUrl, relinked, shrunk, stopped } = result;
  const { fetched, present, gone, placeholder, notNamed, failed } = originals;
  const counts = [`${fetched} fetched`, `${present} already here`, `${gone} gone`, `${failed} failed`];
  if (placeholder > 0) counts.push(`${placeholder} refused as placeholders`);
  if (notNamed > 0) counts.push(`${notNamed} on hosts that are not named`);
  const small = shrunk > 0 ? `\nsmall files made of ${counted(shrunk, 'picture')}` : '';
  const linked = `copies are named under ${mediaUrl} (profiles and lists rebuilt: ${relinked})`;
  return {
    summary: `pictures: ${counts.join(', ')}${fetched + present > 0 ? `\n${linked}` : ''}${small}`,
    result,
    failure: joinReasons(
      stopped !== undefined && `${stopped}; the same command continues where this run ended`,
      !isAnyHostNamed && notNamed > 0 && `no host may be asked: name hosts with ${HOSTS_OPTION}`,
      failed > 0 && `${failed} of ${counted(total + present, 'picture')} failed`,
    ),
  };
}
