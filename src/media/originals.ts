// The originals to fetch, found in all records and put down in a scratch file: there may be more than memory holds.
import type { KindName } from '../records/kinds.ts';
import { FILE_MEMBERS, PICTURE_MEMBERS } from '../records/pictures.ts';
import { type RawRecord, recogniseKind } from '../records/recognise.ts';
import type { Connection } from '../stores/sqlite/connect.ts';
import type { MediaEntry } from '../stores/writer.ts';
import type { StoredFile } from './folder.ts';

const PAGE = 100;

const TABLES = `
  CREATE TABLE wanted (n INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, host TEXT NOT NULL);
  CREATE INDEX wanted_of_host ON wanted (host, n);
  CREATE TABLE copies (url TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE known (url TEXT PRIMARY KEY, file TEXT, bytes INTEGER NOT NULL, reason TEXT) WITHOUT ROWID;
  CREATE TABLE files (name TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
`;

/** Known entries whose copy is in the folder. */
const PRESENT = 'known JOIN files ON files.name = known.file AND files.bytes = known.bytes';

export type Originals = ReturnType<typeof createOriginals>;

export function createOriginals(db: Connection) {
  db.exec(TABLES);
  const insert = db.prepare('INSERT OR IGNORE INTO wanted (url, host) VALUES (?, ?)');
  const page = db.prepare('SELECT n, url FROM wanted WHERE host = ? AND n > ? ORDER BY n LIMIT ?');
  const know = db.prepare('INSERT OR REPLACE INTO known VALUES (@url, @file, @bytes, @reason)');
  const addCopy = db.prepare('INSERT OR IGNORE INTO copies VALUES (?, ?)');
  const addFile = db.prepare('INSERT OR REPLACE INTO files VALUES (@name, @bytes)');

  return {
    addWanted: (url: string) => void insert.run(url, hostOf(url)),
    /** An original that is the address of a copy, as in what `export --media-urls` writes. */
    addCopy: (url: string, name: string) => void addCopy.run(url, name),
    addKnown: (entry: MediaEntry) => void know.run(entry),
    addFile: ({ name, bytes }: StoredFile) => void addFile.run({ name, bytes }),

    /** Refuses the copies with this hash, also those of earlier runs; the entries that this changes. */
    refuse: (sha256: string, reason: string) => refuseCopies(db, `${sha256}.`, reason),
    /** Makes copies in the folder known by the addresses of copies in records; the entries that this adds. */
    addCopies: () => adoptCopies(db),

    /** Takes off the list what has its copy in the folder; how many these are. */
    removePresent: () =>
      db.prepare(`DELETE FROM wanted WHERE url IN (SELECT url FROM ${PRESENT})`).run().changes,

    /** Each copy in the folder, with one of its originals. */
    present: () =>
      db.prepare(`SELECT min(url) AS url, known.bytes FROM ${PRESENT} GROUP BY file`).iterate() as Iterable<{
        url: string;
        bytes: number;
      }>,

    size: () => db.prepare('SELECT count(*) FROM wanted').pluck().get() as number,

    /** The hosts of the originals to fetch, those with the most of them first. */
    hosts: () =>
      db
        .prepare('SELECT host FROM wanted GROUP BY host ORDER BY count(*) DESC, host')
        .pluck()
        .all() as string[],

    ofHost: (host: string) => urlsIn((last) => page.all(host, last, PAGE) as Wanted[]),
  };
}

interface Wanted {
  readonly n: number;
  readonly url: string;
}

/** `nameStart` is a hash and the point behind it. */
function refuseCopies(db: Connection, nameStart: string, reason: string): MediaEntry[] {
  db.prepare('DELETE FROM wanted WHERE url IN (SELECT url FROM known WHERE substr(file, 1, 65) = ?)').run(
    nameStart,
  );
  return db
    .prepare('UPDATE known SET file = NULL, bytes = 0, reason = ? WHERE substr(file, 1, 65) = ? RETURNING *')
    .all(reason, nameStart) as MediaEntry[];
}

function adoptCopies(db: Connection): MediaEntry[] {
  const copies = 'copies JOIN files USING (name)';
  db.exec(`INSERT OR IGNORE INTO wanted (url, host) SELECT url, '' FROM ${copies}`);
  return db
    .prepare(
      `INSERT OR REPLACE INTO known SELECT url, name, bytes, NULL FROM ${copies}
       WHERE url NOT IN (SELECT url FROM ${PRESENT}) RETURNING *`,
    )
    .all() as MediaEntry[];
}

/** Page by page, so that others may change the list meanwhile. */
function* urlsIn(pageAfter: (last: number) => Wanted[]): Generator<string> {
  for (let rows = pageAfter(0); rows.length > 0; rows = pageAfter(rows.at(-1)?.n ?? 0))
    yield* rows.map(({ url }) => url);
}

/** The host that an original is counted for. */
export const hostOf = (url: string) => URL.parse(url)?.host ?? '';

/** The addresses of pictures in a record, with `files` also those of other files. */
export function originalsIn(record: string, files: boolean): string[] {
  const source = JSON.parse(record) as RawRecord;
  const recognised = recogniseKind(source);
  if ('reason' in recognised) return [];
  return membersOf(recognised.kind, files)
    .map((member) => source[member])
    .filter((value): value is string => typeof value === 'string' && value !== '');
}

const membersOf = (kind: KindName, files: boolean) =>
  files ? [...PICTURE_MEMBERS[kind], ...FILE_MEMBERS[kind]] : PICTURE_MEMBERS[kind];
