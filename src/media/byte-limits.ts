// Limits in bytes, for all copies and for those of each host. What is under way counts.

/** The copies take all the room they may have. */
export class QuotaReached extends Error {
  override name = 'QuotaReached';
}

export interface ByteLimits {
  readonly maxHost: number;
  readonly quota: number;
}

export interface Share {
  /** Whether the host may give anything more. */
  readonly isUsedUp: () => boolean;
  /** Takes bytes for a file; whether the host may give so many. */
  take(bytes: number): boolean;
  /** For a file that is not kept. */
  giveBack(bytes: number): void;
}

export function createByteLimits({ maxHost, quota }: ByteLimits) {
  const hosts = new Map<string, number>();
  let total = 0;

  function add(host: string, bytes: number): void {
    total += bytes;
    hosts.set(host, (hosts.get(host) ?? 0) + bytes);
  }

  return {
    /** Counts what the folder holds. */
    addHeld(bytes: number): void {
      total += bytes;
    },
    /** Counts what a host gave in earlier runs, which the folder holds. */
    addOfHost(host: string, bytes: number): void {
      hosts.set(host, (hosts.get(host) ?? 0) + bytes);
    },
    shareOf: (host: string): Share => ({
      isUsedUp() {
        if (total >= quota) throw new QuotaReached();
        return (hosts.get(host) ?? 0) >= maxHost;
      },
      take(bytes) {
        if (total + bytes > quota) throw new QuotaReached();
        if ((hosts.get(host) ?? 0) + bytes > maxHost) return false;
        add(host, bytes);
        return true;
      },
      giveBack: (bytes) => add(host, -bytes),
    }),
  };
}
