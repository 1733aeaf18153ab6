// What is published: a row for each file, in a SQLite file beside the trees. A run changes it in one transaction, so it
// always says what is in the tree that it names, however the run ended; and no other process has it open meanwhile.
import { appendFileSync } from 'node:fs';
import { OutputError } from '../../stores/output.ts';
import { type OpenDatabase, openExclusive } from '../../stores/sqlite/connect.ts';
import { toStoreError } from '../../stores/sqlite/errors.ts';
import { eraseGaps } from '../../stores/sqlite/gaps.ts';

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
export interface SampleEntry extends Pick<ManifestEntry, 'kind' | 'type' | 'path' | 'host'> {
  readonly address: string;
}

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
  readonly inStep: number;
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

const ROWS_AT_ONCE = 1000;

// SQL adds up some rows at a time: to make objects of all rows would cost three times as much.
const AFTER = 'FROM files WHERE (owner, path) > (?, ?) ORDER BY owner, path';
const PART = `FROM (SELECT * ${AFTER} LIMIT ${ROWS_AT_ONCE})`;
const LAST_OF_PART = `SELECT owner, path ${AFTER} LIMIT 1 OFFSET ${ROWS_AT_ONCE - 1}`;
const LINE = `json_object('path', path, 'address', address, 'type', type, 'etag', etag, 'sha256', sha256, 'bytes', bytes)`;
const LINES = `
  SELECT CAST(string_agg(${LINE} || char(10), '') AS BLOB) AS lines, count(*) AS files, coalesce(sum(bytes), 0) AS bytes
  ${PART}`;
const SAMPLES = `
  SELECT kind, type, min(path) AS path, host, address ${PART} WHERE address IS NOT NULL GROUP BY kind, type`;

/** The next owners, each found with one search. */
const OWNERS = `
  WITH RECURSIVE owners (owner) AS (
    SELECT min(owner) FROM files WHERE owner > ?
    UNION ALL SELECT (SELECT min(owner) FROM files WHERE files.owner > owners.owner) FROM owners
    WHERE owner IS NOT NULL LIMIT ${ROWS_AT_ONCE})
  SELECT owner, owner IN (SELECT owner FROM seen) AS isSeen FROM owners WHERE owner IS NOT NULL`;

type Pause = () => Promise<void>;

export type Manifest = ReturnType<typeof openManifest>;

type Prepare = ReturnType<typeof openNamed>['prepare'];

export interface Listed {
  readonly files: number;
  readonly bytes: number;
  /** A file of each kind and type that has an address. */
  readonly samples: readonly SampleEntry[];
}

/** Writes a line of JSON for each file to an empty one. Between parts is a pause: there may be millions. */
async function listFiles(prepare: Prepare, path: string, pause: Pause): Promise<Listed> {
  const lastOfPart = prepare<Place>(LAST_OF_PART);
  const lines = prepare<{ lines: Buffer | null; files: number; bytes: number }>(LINES);
  const samples = prepare<SampleEntry>(SAMPLES);
  const found = new Map<string, SampleEntry>();
  const sum = { files: 0, bytes: 0 };
  for (let after: Place | undefined = { owner: '', path: '' }; after !== undefined; await pause()) {
    const place = [after.owner, after.path];
    const part = lines.get(...place);
    if (part?.lines) appendFileSync(path, part.lines);
    sum.files += part?.files ?? 0;
    sum.bytes += part?.bytes ?? 0;
    for (const sample of samples.all(...place)) {
      const sort = `${sample.kind} ${sample.type}`;
      if (!found.has(sort)) found.set(sort, sample);
    }
    after = lastOfPart.get(...place);
  }
  const sorted = [...found].sort(([one], [other]) => (one < other ? -1 : 1));
  return { ...sum, samples: sorted.map(([, sample]) => sample) };
}

/** The files of owners who have none any more, of those with names that begin like this. */
async function* readUnseen(
  prepare: Prepare,
  find: (owner: string) => Iterable<Place>,
  begin: string,
  pause: Pause,
): AsyncGenerator<Place> {
  const part = prepare<{ owner: string; isSeen: number }>(OWNERS);
  for (let last: string | undefined = begin; last?.startsWith(begin); await pause()) {
    const owners = part.all(last);
    for (const { owner, isSeen } of owners) if (isSeen === 0 && owner.startsWith(begin)) yield* find(owner);
    last = owners.at(-1)?.owner;
  }
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
    lastRun: prepare<LastRun>('SELECT tree, generation, settings, inStep FROM last_run').get(),
    /** The files of an owner, by path. */
    find: (owner: string) => new Map(find.all(owner).map((entry) => [entry.path, entry])),
    put: (entry: ManifestEntry) => put.run(entry),
    remove: ({ owner, path }: Place) => remove.run(owner, path),
    startPass: () => exec('DELETE FROM seen'),
    /** Notes an owner who still has files. */
    see: (owner: string) => see.run(owner),
    unseen: (begin: string, pause: Pause) => readUnseen(prepare, (owner) => find.all(owner), begin, pause),

    /** Notes a file of the tree that is not what it was in the other one. */
    noteChange: (path: string) => note.run(path),
    /** The next of these files, in the order of their paths. */
    changesAfter: (path: string) => changes.all(path).map((row) => row.path),

    list: (path: string, pause: Pause) => listFiles(prepare, path, pause),
    /** From now on this tree is the one that is served. */
    commit(tree: TreeName, { generation, settings }: LastInput): void {
      prepare('INSERT OR REPLACE INTO last_run VALUES (1, ?, ?, ?, 0)').run(tree, generation, settings);
      exec('COMMIT');
    },
    /** While they differ, a run that is killed leaves the other tree to be made anew. */
    setInStep(inStep: boolean): void {
      exec(`${db.inTransaction ? 'COMMIT;' : ''} UPDATE last_run SET inStep = ${Number(inStep)}; BEGIN`);
    },
    /** Erases what is left of removed rows. It is the last change of a run: SQLite has read pages before they were swept. */
    eraseTraces: (pause: Pause) => eraseTraces(db, file, pause),
    close: () => void db.close(),
  };
}

async function eraseTraces(db: OpenDatabase, file: string, pause: Pause): Promise<void> {
  db.exec('COMMIT');
  for (let page: number | undefined = 1; page !== undefined; await pause()) page = eraseGaps(db, file, page);
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
