// The originals to fetch, in a temporary database, since there may be more than memory holds; and what became of them, saved
// in batches: what is not saved yet is fetched again after a crash.
import { share } from '../runs/each.ts';
import type { MediaEntry } from '../stores/media.ts';
import { openScratch } from '../stores/sqlite/connect.ts';
import type { Writer } from '../stores/writer.ts';

const PAGE = 100;

export type Originals = ReturnType<typeof createOriginals>;

export function createOriginals() {
  const db = openScratch();
  db.exec(`
    CREATE TABLE wanted (n INTEGER PRIMARY KEY, url TEXT NOT NULL, host TEXT NOT NULL);
    CREATE INDEX wanted_of_host ON wanted (host, n);`);
  const insert = db.prepare('INSERT INTO wanted (url, host) VALUES (?, ?)');
  const page = db.prepare('SELECT n, url FROM wanted WHERE host = ? AND n > ? ORDER BY n LIMIT ?');

  /** Page by page, so that several lanes may share one. */
  function* listUrls(host: string): Generator<string> {
    for (let last = 0; ; ) {
      const rows = page.all(host, last, PAGE) as { n: number; url: string }[];
      if (rows.length === 0) return;
      yield* rows.map(({ url }) => url);
      last = (rows.at(-1) as { n: number }).n;
    }
  }

  return {
    want: (url: string) => void insert.run(url, URL.parse(url)?.host ?? ''),
    size: () => db.prepare('SELECT count(*) FROM wanted').pluck().get() as number,

    /**
     * The originals of each host, as often as the host may be asked at a time. Every host comes once before any comes
     * again, so that slow ones do not hold up the others; those with the most originals come first.
     */
    lanes(concurrency: number): (Iterable<string> | AsyncIterable<string>)[] {
      const hosts = db
        .prepare('SELECT host FROM wanted GROUP BY host ORDER BY count(*) DESC, host')
        .pluck()
        .all();
      const queues = (hosts as string[]).map((host) => share(listUrls(host), concurrency));
      return Array.from({ length: concurrency }, (_, lane) =>
        queues.map((lanes) => lanes[lane] ?? []),
      ).flat();
    },

    [Symbol.dispose]: db[Symbol.dispose],
  };
}

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
