// After a takedown: which hosts do not have it yet. A client that asks them still sees what was taken down.
import { setTimeout as delay } from 'node:timers/promises';
import { parsePostgresUrl } from '../../config/database-url.ts';
import { openHosts } from './hosts.ts';

const WAIT_MS = 10_000;
const PAUSE_MS = 50;

/** Waits until all hosts of a URL have the newest data; the names of those that do not have it then. */
export async function findBehind(url: string): Promise<string[]> {
  if (parsePostgresUrl(url).hosts.length === 1) return [];
  const hosts = await openHosts(url, () => {});
  try {
    const deadline = performance.now() + WAIT_MS;
    for (;;) {
      const behind = hosts.states().filter(({ up, lag }) => !up || lag > 0);
      if (behind.length === 0 || performance.now() > deadline) return behind.map(({ name }) => name);
      await delay(PAUSE_MS);
    }
  } finally {
    await hosts.close();
  }
}
