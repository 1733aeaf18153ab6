// What is published: a row for each file, in a SQLite file beside the trees. A run changes it in one transaction, so it
// always says what is in the tree that it names, however the run ended; and no other process has it open meanwhile.
import { appendFileSync } from 'node:fs';
import { OutputError } from '../../stores/output.ts';
import { type OpenDatabase, openExclusive } from '../../stores/sqlite/connect.ts';
import { toStoreError } from '../../stores/sqlite/errors.ts';
import { eraseGaps } from '../../stores/sqlite/gaps.ts';
import { createPageSet } from '../../stores/sqlite/page-set.ts';

/** One file. */
export interface ManifestEntry {
  /** The owner: a user, a copy, or one of those that are there once. */
  readonly owner: string;
  /** Below `files/`. */
  readonly path: string;
  /** Files of a kind share headers: those in a folder, or one that is there once. */
  readonly kind: string;
  /** The canonical address and its host, if there are any. */
  readonly address: string | null;
  readonly host: string | null;
  readonly type: string;
  /** As the server sends it. */
  readonly etag: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** A file with an address. */
export type SampleEntry = ManifestEntry & { readonly address: string };

export type Place = Pick<ManifestEntry, 'owner' | 'path'>;

/** What the last run made its files from. */
export interface LastInput {
  /** Of the data; null if some files lack a picture, which may be there the next time. */
  readonly generation: number | null;
  /** A digest of everything else. */
  readonly settings: string;
}

export type TreeName = '0' | '1';

export interface LastRun extends LastInput {
  /** The tree that is served. */
  readonly tree: TreeName;
  /** Whether the other one has the same files. */
  readonly inSync: number;
}

// What is removed is overwritten: it may be the name of a user who was taken down. eraseTraces does the rest.
const SCHEMA = `
  PRAGMA secure_delete = ON;
  PRAGMA cache_size = -4000;
  PRAGMA temp.cache_size = -4000;
  CREATE TABLE IF NOT EXISTS files (
    owner TEXT, path TEXT, kind TEXT NOT NULL, address TEXT, host TEXT, type TEXT NOT NULL, etag TEXT NOT NULL,
    sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (owner, path)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS last_run (
    one INTEGER PRIMARY KEY CHECK (one = 1), tree TEXT NOT NULL, generation INTEGER, settings TEXT NOT NULL,
    inStep INTEGER NOT NULL);
  CREATE TEMP TABLE seen (owner TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TEMP TABLE changed (path TEXT PRIMARY KEY) WITHOUT ROWID;
  BEGIN`;

const LINE = `json_object('path', path, 'address', address, 'type', type, 'etag', etag, 'sha256', sha256, 'bytes', bytes)`;
const IS_UNSEEN = 'owner NOT IN (SELECT owner FROM seen)';
const ROWS_AT_ONCE = 1000;

type Pause = () => Promise<void>;

export type Manifest = ReturnType<typeof openManifest>;

type Prepare = ReturnType<typeof openNamed>['prepare'];

/** All files, some at a time, of owners with names that begin like this. Between them is a pause: there may be millions. */
async function* readInParts<Row extends Place>(
  prepare: Prepare,
  columns: string,
  pause: Pause,
  begin = '',
): AsyncGenerator<Row[]> {
  const part = prepare<Row>(
    `SELECT ${columns} FROM files WHERE (owner, path) > (?, ?) ORDER BY owner, path LIMIT ${ROWS_AT_ONCE}`,
  );
  for (let last: Place | undefined = { owner: begin, path: '' }; last !== undefined; ) {
    const rows: Row[] = part.all(last.owner, last.path).filter(({ owner }) => owner.startsWith(begin));
    yield rows;
    last = rows.at(-1);
    await pause();
  }
}

/** A file of each kind and type that has an address. */
async function findSamples(prepare: Prepare, pause: Pause): Promise<SampleEntry[]> {
  const found = new Map<string, SampleEntry>();
  for await (const files of readInParts<ManifestEntry>(prepare, '*', pause))
    for (const file of files) {
      const sort = `${file.kind} ${file.type}`;
      const { address } = file;
      if (address !== null && !found.has(sort)) found.set(sort, { ...file, address });
    }
  return [...found.values()];
}

/** The files of owners who have none any more, of those with names that begin like this. */
async function* readUnseen(prepare: Prepare, begin: string, pause: Pause): AsyncGenerator<Place> {
  const columns = `owner, path, ${IS_UNSEEN} AS isUnseen`;
  for await (const files of readInParts<Place & { isUnseen: number }>(prepare, columns, pause, begin))
    yield* files.filter(({ isUnseen }) => isUnseen === 1);
}

/** Writes a line of JSON for each file to an empty one. */
async function writeLines(prepare: Prepare, path: string, pause: Pause): Promise<void> {
  const columns = `owner, path, ${LINE} AS line`;
  for await (const files of readInParts<Place & { line: string }>(prepare, columns, pause))
    appendFileSync(path, files.map(({ line }) => `${line}\n`).join(''));
}

export function openManifest(file: string) {
  const { db, exec, prepare } = openNamed(file);
  exec(SCHEMA);

  const find = prepare<ManifestEntry>('SELECT * FROM files WHERE owner = ?');
  const put = prepare(`INSERT OR REPLACE INTO files
    VALUES ($owner, $path, $kind, $address, $host, $type, $etag, $sha256, $bytes)`);
  const remove = prepare('DELETE FROM files WHERE owner = ? AND path = ?');
  const see = prepare('INSERT OR IGNORE INTO seen VALUES (?)');
  const note = prepare('INSERT OR IGNORE INTO changed VALUES (?)');
  const changes = prepare<{ path: string }>(
    `SELECT path FROM changed WHERE path > ? ORDER BY path LIMIT ${ROWS_AT_ONCE}`,
  );

  return {
    lastRun: prepare<LastRun>('SELECT tree, generation, settings, inStep AS inSync FROM last_run').get(),
    totals: () =>
      prepare<{ files: number; bytes: number }>(
        'SELECT count(*) AS files, coalesce(sum(bytes), 0) AS bytes FROM files',
      ).get() ?? { files: 0, bytes: 0 },
    samples: (pause: Pause) => findSamples(prepare, pause),

    /** The files of an owner, by path. */
    find: (owner: string) => new Map(find.all(owner).map((entry) => [entry.path, entry])),
    put: (entry: ManifestEntry) => put.run(entry),
    remove: ({ owner, path }: Place) => remove.run(owner, path),
    startPass: () => exec('DELETE FROM seen'),
    /** Notes an owner who still has files. */
    see: (owner: string) => see.run(owner),
    unseen: (begin: string, pause: Pause) => readUnseen(prepare, begin, pause),

    /** Notes a file of the tree that is not what it was in the other one. */
    noteChange: (path: string) => note.run(path),
    /** The next of these files, in the order of their paths. */
    changesAfter: (path: string) => changes.all(path).map((row) => row.path),

    writeLines: (path: string, pause: Pause) => writeLines(prepare, path, pause),
    /** From now on this tree is the one that is served. */
    commit(tree: TreeName, { generation, settings }: LastInput): void {
      prepare('INSERT OR REPLACE INTO last_run VALUES (1, ?, ?, ?, 0)').run(tree, generation, settings);
      exec('COMMIT');
    },
    /** While they differ, a run that is killed leaves the other tree to be made anew. */
    setInSync(inSync: boolean): void {
      exec(`${db.inTransaction ? 'COMMIT;' : ''} UPDATE last_run SET inStep = ${Number(inSync)}; BEGIN`);
    },
    /** Erases what is left of removed rows. It is the last change of a run: SQLite has read pages before they were swept. */
    eraseTraces: (pause: Pause) => eraseTraces(db, file, pause),
    close: () => void db.close(),
  };
}

async function eraseTraces(db: OpenDatabase, file: string, pause: Pause): Promise<void> {
  db.exec('COMMIT');
  const pages = createPageSet(Number(db.pragma('page_count', { simple: true })));
  pages.addAll();
  for (let page: number | undefined = 1; page !== undefined; await pause())
    page = eraseGaps(db, file, pages, page);
}

/** The database of this file; errors of its statements name it. */
function openNamed(file: string) {
  const db = openExclusive(file, 0);
  if (db === undefined) throw new OutputError(`another run publishes there: wait for its end (${file})`);
  const named = <T>(action: () => T): T => {
    try {
      return action();
    } catch (error) {
      throw isDriverError(error) ? toStoreError(file, error) : error;
    }
  };
  const prepare = <Row>(sql: string) => {
    const statement = named(() => db.prepare<unknown[], Row>(sql));
    return {
      get: (...values: unknown[]) => named(() => statement.get(...values)),
      all: (...values: unknown[]) => named(() => statement.all(...values)),
      run: (...values: unknown[]) => void named(() => statement.run(...values)),
    };
  };
  return { db, prepare, exec: (sql: string) => named(() => db.exec(sql)) };
}

/** Errors of SQLite name no file. */
export const isDriverError = (error: unknown) => error instanceof Error && error.name === 'SqliteError';
