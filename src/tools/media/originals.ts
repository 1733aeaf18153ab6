// The originals to fetch, in a temporary database, since there may be more than memory holds; and what became of them, saved
// in batches: what is not saved yet is fetched again after a crash.

import type { HasFile, OriginalState } from '../../stores/sql/media.ts';
import { type OpenDatabase, openScratch } from '../../stores/sqlite/connect.ts';
import type { Writer } from '../../stores/writer.ts';

const PAGE = 100;
/** Of those that are only noted, and cost no request. */
const NOTED_PAGE = 5000;

interface Row {
  readonly n: number;
  readonly url: string;
}

/** Addresses, some at a time, since a statement can be iterated once at a time. `read` gives those behind a number. */
function* listPages(read: (last: number) => readonly Row[]): Generator<string[]> {
  for (let last = 0; ; ) {
    const rows = read(last);
    const end = rows.at(-1);
    if (end === undefined) return;
    yield rows.map(({ url }) => url);
    last = end.n;
  }
}

/** A list of addresses, in a table of its own. */
function createList(db: OpenDatabase, table: string) {
  db.exec(`CREATE TABLE ${table} (n INTEGER PRIMARY KEY, url TEXT NOT NULL)`);
  const insert = db.prepare(`INSERT INTO ${table} (url) VALUES (?)`);
  const page = db.prepare<[number, number], Row>(
    `SELECT n, url FROM ${table} WHERE n > ? ORDER BY n LIMIT ?`,
  );
  return {
    add: (url: string) => void insert.run(url),
    pages: () => listPages((last) => page.all(last, NOTED_PAGE)),
  };
}

export type Originals = ReturnType<typeof createOriginals>;

export function createOriginals() {
  const db = openScratch();
  db.exec(`
    CREATE TABLE wanted (n INTEGER PRIMARY KEY, url TEXT NOT NULL, host TEXT NOT NULL);
    CREATE INDEX wanted_of_host ON wanted (host, n);
    CREATE TABLE seen (url TEXT PRIMARY KEY) WITHOUT ROWID;`);
  const insert = db.prepare('INSERT INTO wanted (url, host) VALUES (?, ?)');
  const page = db.prepare<[string, number, number], Row>(
    'SELECT n, url FROM wanted WHERE host = ? AND n > ? ORDER BY n LIMIT ?',
  );
  const see = db.prepare('INSERT OR IGNORE INTO seen VALUES (?)');

  function* listUrls(host: string): Generator<string> {
    for (const urls of listPages((last) => page.all(host, last, PAGE))) yield* urls;
  }

  return {
    /** Whether it comes for the first time. */
    isNew: (url: string) => see.run(url).changes > 0,
    /** Those whose host may not be asked. */
    refused: createList(db, 'refused'),
    /** Those whose copy is in the folder. */
    found: createList(db, 'found'),
    want: (url: string) => void insert.run(url, URL.parse(url)?.host ?? ''),
    size: () => db.prepare<[], number>('SELECT count(*) FROM wanted').pluck().get() ?? 0,

    /** Those of each host; hosts with the most of them come first. */
    queues(): Generator<string>[] {
      const query = 'SELECT host FROM wanted GROUP BY host ORDER BY count(*) DESC, host';
      return db.prepare<[], string>(query).pluck().all().map(listUrls);
    },

    [Symbol.dispose]: db[Symbol.dispose],
  };
}

const BATCH = 100;

export type Saver = ReturnType<typeof createSaver>;

/** A takedown happened during the fetch: the list of originals is out of date. */
export class TakedownMade extends Error {}

/** `mark` is that of the takedowns when the originals were listed. */
export function createSaver(writer: Pick<Writer, 'saveOriginals'>, mark: string, hasFile?: HasFile) {
  let pending: OriginalState[] = [];
  let saving = Promise.resolve();

  async function save(): Promise<void> {
    const batch = pending;
    pending = [];
    if (batch.length === 0 || (await writer.saveOriginals(batch, mark, hasFile))) return;
    pending = [...batch, ...pending];
    throw new TakedownMade();
  }

  /** Batches are saved one after the other, and none after one that failed. */
  function flush(): Promise<void> {
    saving = saving.then(save);
    return saving;
  }

  return {
    async add(entry: OriginalState): Promise<void> {
      pending.push(entry);
      if (pending.length >= BATCH) await flush();
    },
    /** Saves many at once, which cost no request. */
    addAll(entries: readonly OriginalState[]): Promise<void> {
      pending = pending.concat(entries);
      return flush();
    },
    flush,
    /** What a takedown kept from being saved. */
    unsaved: (): readonly OriginalState[] => pending,
  };
}
