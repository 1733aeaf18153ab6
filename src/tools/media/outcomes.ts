// What becomes of originals: counts it, reports each failure, and sums it up.
import { brief, counted, joinReasons } from '../../records/printable.ts';
import type { OriginalState } from '../../stores/sql/media.ts';

/** The option that names hosts. */
export const HOSTS_OPTION = '--media-hosts';
const LONGEST_SHOWN = 120;

/** `gone`: the host says that there is no such file. `notNamed`: its host may not be asked. */
export type FetchOutcome = 'fetched' | 'gone' | 'notNamed' | 'failed';

export type Outcomes = ReturnType<typeof createOutcomes>;

export function createOutcomes(onFault: (line: string) => void) {
  const counts = { fetched: 0, present: 0, gone: 0, notNamed: 0, failed: 0 };
  const reported = new Set<string>();

  /** Once for each host: the lines of its pictures would hide all others. */
  function reportRefused(reason: string): void {
    const line = brief(reason, LONGEST_SHOWN);
    if (!reported.has(line)) onFault(line);
    reported.add(line);
  }

  return {
    counts,
    reportRefused,
    /** Its copy is here. */
    addPresent: () => void counts.present++,
    /** Its host may not be asked. */
    addNotNamed: () => void counts.notNamed++,
    /** Whether a host was not named, in this run or before. */
    isAnyRefused: () => reported.size > 0,
    add(entry: OriginalState, outcome: FetchOutcome): void {
      counts[outcome]++;
      if (outcome === 'fetched') return;
      const reason = entry.reason ?? '';
      if (outcome === 'notNamed') reportRefused(reason);
      else onFault(`${brief(entry.url, LONGEST_SHOWN)}: ${brief(reason, LONGEST_SHOWN)}`);
    },
  };
}

export interface FetchResult {
  readonly originals: Outcomes['counts'];
  /** How many were to be fetched. */
  readonly total: number;
  /** What copies are linked with. */
  readonly mediaUrl: string;
  /** How many profiles and lists of items name other addresses now. */
  readonly relinked: number;
  /** Of how many copies small pictures were made. */
  readonly shrunk: number;
  /** Why the run ended before the last original; undefined if it did not. */
  readonly stopped: string | undefined;
}

/** `lacksHosts`: no host may be asked, and one was to be asked. */
export function describeFetch(result: FetchResult, lacksHosts: boolean) {
  const { originals, total, mediaUrl, relinked, shrunk, stopped } = result;
  const { fetched, present, gone, notNamed, failed } = originals;
  const counts = [`${fetched} fetched`, `${present} already here`, `${gone} gone`, `${failed} failed`];
  if (notNamed > 0) counts.push(`${notNamed} on hosts that are not named`);
  const small = shrunk > 0 ? `\nsmall pictures made of ${counted(shrunk, 'picture')}` : '';
  const linked = `copies are named under ${mediaUrl} (profiles and lists rebuilt: ${relinked})`;
  return {
    summary: `pictures: ${counts.join(', ')}${fetched + present + relinked > 0 ? `\n${linked}` : ''}${small}`,
    result,
    failure: joinReasons(
      stopped !== undefined && `${stopped}; the same command continues where this run ended`,
      lacksHosts && `no host may be asked: name hosts with ${HOSTS_OPTION}`,
      failed > 0 && `${failed} of ${counted(total + present, 'picture')} failed`,
    ),
  };
}
