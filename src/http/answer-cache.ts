// Answers in memory by their address, bounded in bytes and dropped when the data changes.
//
// When the cache is full, one in ADMIT_EVERY of the answers that are not in it is let in: what is asked for often gets in
// soon, and users asked for once do not push others out. Letting all in would cost more than it saves: each Buffer that
// leaves has grown old, and only a full garbage collection frees it (npm run bench -- --only cache).
import { LRUCache } from 'lru-cache';

/** What an entry takes besides its body and address. */
const OVERHEAD = 512;
const ADMIT_EVERY = 1024;

export interface CacheOptions {
  readonly maxBytes: number;
  /** Changes whenever the data may have changed. */
  readonly version: () => number;
}

export type AnswerCache<T extends { readonly body: Buffer }> = ReturnType<typeof createAnswerCache<T>>;

export function createAnswerCache<T extends { readonly body: Buffer }>({ maxBytes, version }: CacheOptions) {
  const cache = new LRUCache<string, T>({
    maxSize: Math.max(maxBytes, 1),
    sizeCalculation: sizeOf,
    dispose: (_answer, _address, reason) => {
      if (reason === 'evict') figures.evictions++;
    },
  });
  const figures = { hits: 0, misses: 0, evictions: 0, drops: 0 };
  let held = version();
  let turnedAway = 0;

  /** The version of the data; what belongs to an earlier one is dropped. */
  function currentVersion(): number {
    const now = version();
    if (now !== held) {
      held = now;
      if (cache.size > 0) figures.drops++;
      cache.clear();
    }
    return now;
  }

  return {
    figures,
    count: () => cache.size,
    bytes: () => cache.calculatedSize,
    currentVersion,

    find(address: string): T | undefined {
      currentVersion();
      const found = cache.get(address);
      if (found !== undefined) figures.hits++;
      return found;
    },

    /** Keeps an answer that was read at a version, unless the data has changed since. */
    keep(address: string, answer: T, readAt: number): void {
      figures.misses++;
      if (maxBytes === 0 || readAt !== held) return;
      const isFull = cache.calculatedSize + sizeOf(answer, address) > maxBytes;
      if (!isFull || ++turnedAway % ADMIT_EVERY === 0) cache.set(address, answer);
    },
  };
}

const sizeOf = ({ body }: { readonly body: Buffer }, address: string) =>
  body.length + address.length + OVERHEAD;
