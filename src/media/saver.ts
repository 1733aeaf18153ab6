// Saves what became of originals in batches. What is not saved yet is fetched again after a crash.
import type { MediaEntry, Writer } from '../stores/writer.ts';

const BATCH = 100;
const BATCH_MS = 2000;

export type Saver = ReturnType<typeof createSaver>;

/** Somebody was taken down during the fetch: the list of originals is out of date. */
export class TakedownMade extends Error {}

/** `mark` is that of the takedowns when the originals were listed. */
export function createSaver(writer: Pick<Writer, 'saveMedia'>, mark: string) {
  let pending: MediaEntry[] = [];
  let savedAt = performance.now();
  let saving = Promise.resolve();

  async function save(): Promise<void> {
    const batch = pending;
    pending = [];
    if (batch.length === 0 || (await writer.saveMedia(batch, mark))) return;
    pending = [...batch, ...pending];
    throw new TakedownMade();
  }

  /** Batches are saved one after the other, and none after one that failed. */
  function flush(): Promise<void> {
    savedAt = performance.now();
    saving = saving.then(save);
    return saving;
  }

  return {
    async add(entry: MediaEntry): Promise<void> {
      pending.push(entry);
      if (pending.length >= BATCH || performance.now() - savedAt >= BATCH_MS) await flush();
    },
    flush,
    /** What a takedown kept from being saved. */
    unsaved: (): readonly MediaEntry[] => pending,
  };
}
