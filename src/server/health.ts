// Whether the server can serve: not while it stops, and not while its data cannot be read.
import type { Reader } from '../stores/reader.ts';

export type Health = ReturnType<typeof createHealth>;

export function createHealth(store: Pick<Reader, 'fault'>) {
  let draining = false;
  return {
    draining: () => draining,
    drain() {
      draining = true;
    },
    /** Why requests should go elsewhere; undefined when they may come. */
    async unready(): Promise<string | undefined> {
      return draining ? 'The server is stopping.' : await store.fault();
    },
  };
}
