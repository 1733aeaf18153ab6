// What becomes of originals: counted for the summary, and told line by line where it is no success.
import { counted } from '../records/counted.ts';
import { brief } from '../records/printable.ts';
import type { MediaEntry } from '../stores/writer.ts';

/** The option that names hosts. */
export const HOSTS_OPTION = '--media-hosts';
const NOT_NAMED = ` is not named by ${HOSTS_OPTION}`;
const LONGEST_SHOWN = 120;

/** `gone`: the host says that there is no such file. `notNamed`: its host may not be asked. */
export type Outcome = 'fetched' | 'gone' | 'placeholder' | 'notNamed' | 'failed';
export type OutcomeCounts = Record<Outcome, number>;

export function outcomeOf({ file, reason }: Pick<MediaEntry, 'file' | 'reason'>): Outcome {
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
      const outcome = outcomeOf(entry);
      counts[outcome]++;
      const { url, reason } = entry;
      if (outcome === 'notNamed' && reason !== null)
        hostsNotNamed.set(reason, (hostsNotNamed.get(reason) ?? 0) + 1);
      else if (outcome !== 'fetched' && outcome !== 'placeholder')
        onFault(`${brief(url, LONGEST_SHOWN)}: ${brief(reason, LONGEST_SHOWN)}`);
    },
    /** A line for each host that may not be asked: the lines of its pictures would hide all others. */
    tellHosts(): void {
      const hosts = [...hostsNotNamed].sort(([, one], [, other]) => other - one);
      for (const [reason, pictures] of hosts)
        onFault(`${brief(reason, LONGEST_SHOWN)}: ${counted(pictures, 'picture')}`);
    },
  };
}
