// Which hosts have the newest data, and what to say when none has.
import { StoreError } from '../errors.ts';
import type { HostState } from '../reader.ts';
import type { Host } from './host.ts';
import { sentence } from './sentences.ts';

/** How long lookups wait for a host that they can go to. */
export const LOST_MS = 1000;

export const BEHIND =
  'The databases that answer are behind what was served before: they have to catch up. After a backup was restored, ' +
  'restart the servers.';
const EMPTY = 'Nothing was imported into the database yet: run `vitrine import`.';

export type Freshness = ReturnType<typeof createFreshness>;

export function createFreshness(hosts: readonly Host[], onNewer: () => void) {
  let newest = 0;
  let turn = 0;
  /** Since when there is no host to go to; undefined while there is one. */
  let lostAt: number | undefined = Number.NEGATIVE_INFINITY;
  let error = new StoreError('');

  const isCurrent = (host: Host) => host.up === true && host.generation >= newest;

  /** Why the data cannot be read. */
  function fault(): string | undefined {
    if (!hosts.some(({ up }) => up)) return hosts.map(({ name, fault }) => sentence(name, fault)).join(' ');
    if (newest === 0) return EMPTY;
    return hosts.some(isCurrent) ? undefined : BEHIND;
  }

  return {
    newest: () => newest,
    fault,

    stateOf(host: Host): HostState {
      const { name, up = false, generation } = host;
      // A generation is the time of an import, in microseconds. A host that never answered has none.
      const lag = generation === 0 ? 0 : (newest - generation) / 1e6;
      return { name, up, lag, inUse: isCurrent(host) && newest > 0 };
    },

    /** To be called whenever a host went up or down, or its generation was learned. */
    update(host: Host): void {
      const isNewer = host.generation > newest;
      if (isNewer) newest = host.generation;
      lostAt = hosts.some(isCurrent) ? undefined : (lostAt ?? performance.now());
      if (isNewer) onNewer();
    },

    /** The next host with the newest data, in turns. */
    choose(tried: ReadonlySet<Host>): Host | undefined {
      for (let i = 0; i < hosts.length; i++) {
        const host = hosts[(turn + i) % hosts.length] as Host;
        if (!isCurrent(host) || tried.has(host)) continue;
        turn = (turn + i + 1) % hosts.length;
        return host;
      }
      return undefined;
    },

    isLost: () => lostAt !== undefined && performance.now() - lostAt > LOST_MS,

    /** What a lookup is refused with. The same error for the same reason: in an outage there are thousands a second. */
    refusal(failure?: string): StoreError {
      const reason = fault() ?? failure ?? BEHIND;
      if (error.message !== reason) error = new StoreError(reason);
      return error;
    },
  };
}
