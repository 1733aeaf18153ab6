// What is published: a row for each file, in a SQLite file beside the trees. A run changes it in one transaction, so it
// always says what is in the tree that it names, however the run ended; and nobody else has it open meanwhile.
import { closeSync, openSync, writeSync } from 'node:fs';
import { OutputError } from '../files/output.ts';
import { openExclusive } from '../stores/sqlite/connect.ts';

/** One file. */
export interface Entry {
  /** Whose it is: a user's, a copy, or one of those that are there once. */
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

export type Place = Pick<Entry, 'owner' | 'path'>;

/** What the last run made its files from. */
export interface Source {
  /** Of the data; null if some files lack a picture, which may be there the next time. */
  readonly generation: number | null;
  /** A digest of everything else. */
  readonly settings: string;
}

export type TreeName = '0' | '1';

interface LastRun extends Source {
  /** The tree that is served. */
  readonly tree: TreeName;
  /** Whether the other one has the same files. */
  readonly inStep: number;
}

// What is removed is overwritten: it may be the name of somebody who was taken down.
const SCHEMA = `
  PRAGMA secure_delete = ON;
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
const LINES_AT_ONCE = 1000;

export type Manifest = ReturnType<typeof openManifest>;

export function openManifest(file: string) {
  const db = openExclusive(file, 0);
  if (db === undefined) throw new OutputError(`another run publishes there: wait for its end (${file})`);
  db.exec(SCHEMA);
  const prepare = <Row>(sql: string) => db.prepare<unknown[], Row>(sql);

  return {
    ...createRows(db),
    lastRun: prepare<LastRun>('SELECT * FROM last_run').get(),
    totals: () =>
      prepare<{ files: number; bytes: number }>(
        'SELECT count(*) AS files, coalesce(sum(bytes), 0) AS bytes FROM files',
      ).get() as { files: number; bytes: number },
    /** A file of each kind and type that has an address. */
    samples: () =>
      prepare<Entry>(
        `SELECT files.* FROM files JOIN (
           SELECT owner, min(path) AS path FROM files WHERE address IS NOT NULL GROUP BY kind, type
         ) USING (owner, path)`,
      ).all(),
    /** Writes a line of JSON for each file. */
    writeLines: (path: string) => writeInParts(path, prepare<string>(`SELECT ${LINE} FROM files`).pluck()),
    /** From now on this tree is the one that is served. */
    commit(tree: TreeName, { generation, settings }: Source): void {
      prepare('INSERT OR REPLACE INTO last_run VALUES (1, ?, ?, ?, 0)').run(tree, generation, settings);
      db.exec('COMMIT');
    },
    /** While they differ, a run that is killed leaves the other tree to be made anew. */
    setInStep(inStep: boolean): void {
      const end = db.inTransaction ? 'COMMIT;' : '';
      db.exec(`${end} UPDATE last_run SET inStep = ${Number(inStep)}; BEGIN`);
    },
    close: () => void db.close(),
  };
}

/** Reads and changes rows one by one. */
function createRows(db: NonNullable<ReturnType<typeof openExclusive>>) {
  const prepare = <Row>(sql: string) => db.prepare<unknown[], Row>(sql);
  const find = prepare<Entry>('SELECT * FROM files WHERE owner = ?');
  const put = prepare(`INSERT OR REPLACE INTO files
    VALUES ($owner, $path, $kind, $address, $host, $type, $etag, $sha256, $bytes)`);
  const remove = prepare('DELETE FROM files WHERE owner = ? AND path = ?');
  const see = prepare('INSERT OR IGNORE INTO seen VALUES (?)');
  const unseen = prepare<Place>(
    'SELECT owner, path FROM files WHERE substr(owner, 1, ?) = ? AND owner NOT IN (SELECT owner FROM seen)',
  );
  const change = prepare('INSERT OR IGNORE INTO changed VALUES (?)');

  return {
    /** The files of an owner, by path. */
    find: (owner: string) => new Map(find.all(owner).map((entry) => [entry.path, entry])),
    put: (entry: Entry) => void put.run(entry),
    remove: ({ owner, path }: Place) => void remove.run(owner, path),
    startPass: () => void db.exec('DELETE FROM seen'),
    /** Notes an owner who still has files. */
    see: (owner: string) => void see.run(owner),
    /** The files of owners who have none any more, of those whose names begin like this. */
    unseen: (begin: string) => unseen.all(begin.length, begin),
    /** Notes a file of the tree that is not what it was in the other one. */
    noteChange: (path: string) => void change.run(path),
    changes: () => prepare<{ path: string }>('SELECT path FROM changed').iterate(),
  };
}

function writeInParts(path: string, lines: { iterate(): Iterable<string> }): void {
  const fd = openSync(path, 'wx');
  try {
    let part: string[] = [];
    const flush = () => writeSync(fd, part.map((line) => `${line}\n`).join(''));
    for (const line of lines.iterate()) {
      part.push(line);
      if (part.length < LINES_AT_ONCE) continue;
      flush();
      part = [];
    }
    flush();
  } finally {
    closeSync(fd);
  }
}
