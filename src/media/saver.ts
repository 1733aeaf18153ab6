// Saves what became of originals in batches. What is not saved yet is fetched again after a crash.
import type { MediaEntry, Writer } from '../stores/store.ts';

const BATCH = 100;
const BATCH_MS = 2000;

export type Saver = ReturnType<typeof createSaver>;

export function createSaver(writer: Pick<Writer, 'saveMedia'>) {
  let pending: MediaEntry[] = [];
  let savedAt = performance.now();
  let saving = Promise.resolve();

  function flush(): Promise<void> {
    const batch = pending;
    pending = [];
    savedAt = performance.now();
    // One after the other.
    if (batch.length > 0) saving = saving.then(() => writer.saveMedia(batch));
    return saving;
  }

  return {
    async add(...entries: MediaEntry[]): Promise<void> {
      pending.push(...entries);
      if (pending.length >= BATCH || performance.now() - savedAt >= BATCH_MS) await flush();
    },
    flush,
  };
}
