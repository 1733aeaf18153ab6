// What is made of the data once for each version, and shared by all who ask: a list of a million people takes 50 ms and 1.3 MB,
// and 30 clients that asked for it and did not read would hold as many copies.

import type { Reader } from '../../stores/reader.ts';

/** Keeps the `most` that were asked for last. Who asks while one is made waits for it. */
export function oncePerVersion<Made>(store: Pick<Reader, 'version'>, most: number) {
  const kept = new Map<string, Promise<Made>>();
  let version = Number.NaN;

  return function share(name: string, make: () => Promise<Made>): Promise<Made> {
    if (version !== store.version()) {
      kept.clear();
      version = store.version();
    }
    const made = kept.get(name) ?? make();
    // Deleted first, so that the map stays ordered by when each was asked for.
    kept.delete(name);
    kept.set(name, made);
    const [oldest = ''] = kept.keys();
    if (kept.size > most) kept.delete(oldest);
    made.catch(() => kept.get(name) === made && kept.delete(name));
    return made;
  };
}
